/** A content block of any type, with any fields. The rules determine the blocks that a request may contain. */
export interface ApiBlock {
  readonly type: string
  readonly [field: string]: unknown
}

export type ApiRole = 'user' | 'assistant' | 'system'
