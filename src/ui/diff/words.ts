import { diffArrays, diffWordsWithSpace } from 'diff'

// Loaded when a pair that changed is shown.

/** A piece of two texts: in both, only in the first, or only in the second. */
export interface DiffPiece {
  readonly kind: 'same' | 'left' | 'came'
  readonly text: string
}

/** How two texts differ, word by word. Undefined: they differ so much that it would take too long to say. */
export const wordsChanged = (before: string, after: string): readonly DiffPiece[] | undefined =>
  diffWordsWithSpace(before, after, { timeout: 300 })?.map(({ value, added, removed }) => ({
    kind: added ? 'came' : removed ? 'left' : 'same',
    text: value,
  }))

/** A stretch of two lists: in both, only in the first, or only in the second. */
export interface DiffRun {
  readonly kind: DiffPiece['kind']
  /** How many there are. */
  readonly length: number
}

/** How two lists of texts differ. Those that differ too much to say it soon: all of the first left, all of the second came. */
export const listsChanged = (before: readonly string[], after: readonly string[]): readonly DiffRun[] => {
  const changes = diffArrays([...before], [...after], { timeout: 300 })
  if (!changes)
    return [
      { kind: 'left', length: before.length },
      { kind: 'came', length: after.length },
    ]
  return changes.map(({ count: length, added, removed }) => ({
    kind: added ? 'came' : removed ? 'left' : 'same',
    length,
  }))
}
