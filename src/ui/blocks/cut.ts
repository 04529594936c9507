import type { ClippedField } from '../../core.ts'

/** Path and full length of a string that the server clipped (`?clip=`). */
export type ClippedString = ClippedField

/** Minimum length of a clipped string, in characters: shorter strings are complete. */
export const leastCut = 699
