import type { ClippedField } from '../../core.ts'

/** Path and full length of a string in a block clipped by the server (`?clip=`). */
export type ClippedString = ClippedField

/** Minimum length of a string that the server may have clipped: a shorter one is complete. */
export const leastCut = 699
