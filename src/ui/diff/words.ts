import { diffWordsWithSpace } from 'diff'

// Loaded when a pair that changed is shown.

/** A piece of two texts: in both, only in the first, or only in the second. */
export interface Piece {
  readonly kind: 'same' | 'left' | 'came'
  readonly text: string
}

/** How two texts differ, word by word. Undefined: they differ so much that it would take too long to say. */
export const wordsChanged = (before: string, after: string): readonly Piece[] | undefined =>
  diffWordsWithSpace(before, after, { timeout: 300 })?.map(({ value, added, removed }) => ({
    kind: added ? 'came' : removed ? 'left' : 'same',
    text: value,
  }))
