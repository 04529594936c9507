/** A content block of any type, with any fields. The rules say what a request may contain. */
export interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

export type Role = 'user' | 'assistant' | 'system'
