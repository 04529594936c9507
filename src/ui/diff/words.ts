import { diffArrays, diffWordsWithSpace } from 'diff'

// Loaded when the first changed text or list is shown.

/** Piece of text that is common to both texts (`same`), or only in the first (`left`) or second (`came`) one. */
export interface DiffPiece {
  readonly kind: 'same' | 'left' | 'came'
  readonly text: string
}

/** Compares two texts word by word; undefined if the comparison takes longer than 300 ms. */
export const wordsChanged = (before: string, after: string): readonly DiffPiece[] | undefined =>
  diffWordsWithSpace(before, after, { timeout: 300 })?.map(({ value, added, removed }) => ({
    kind: added ? 'came' : removed ? 'left' : 'same',
    text: value,
  }))

/** Run of list elements that are common to both lists (`same`), or only in the first (`left`) or second (`came`) one. */
export interface DiffRun {
  readonly kind: DiffPiece['kind']
  readonly length: number
}

/**
 * Compares two lists of texts. If the comparison takes longer than 300 ms, returns all elements of the first list as removed and all
 * elements of the second as added.
 */
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
