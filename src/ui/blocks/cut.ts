import type { ClippedField } from '../../core.ts'

/** Where the server has cut strings of a block (`?clip=`), and how long they are in whole. */
export type ClippedString = ClippedField

/** The least that a string has of which the server may have cut the end: one that it shows whole is shorter, or exactly as long. */
export const leastCut = 699
