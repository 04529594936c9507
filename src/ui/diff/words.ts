import { diffArrays, diffWordsWithSpace } from 'diff'

// Loaded when a pair that changed is shown.

/** A piece of text: in both texts, only in the first, or only in the second. */
export interface DiffPiece {
  readonly kind: 'same' | 'left' | 'came'
  readonly text: string
}

/** Compares two texts word by word; undefined if they differ so much that it would take too long. */
export const wordsChanged = (before: string, after: string): readonly DiffPiece[] | undefined =>
  diffWordsWithSpace(before, after, { timeout: 300 })?.map(({ value, added, removed }) => ({
    kind: added ? 'came' : removed ? 'left' : 'same',
    text: value,
  }))

/** A run of list elements: in both lists, only in the first, or only in the second. */
export interface DiffRun {
  readonly kind: DiffPiece['kind']
  /** Number of elements. */
  readonly length: number
}

/** Compares two lists of texts. If that would take too long, all of the first list left and all of the second came. */
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
