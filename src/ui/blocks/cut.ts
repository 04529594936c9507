/** Where the server has cut strings of a block (`?clip=`), and how long they are in whole. */
export interface Cut {
  readonly block: number
  /** `text`, `content`, `thinking`, `input`, `data` … */
  readonly field: string
  /** In UTF-16 code units; of its JSON, for a field that is no string. */
  readonly length: number
}

/** The least that a string has of which the server may have cut the end: one that it shows whole is shorter, or exactly as long. */
export const leastCut = 699
