/** A content block: of any type, with any fields. What a request may hold is for the rules to say. */
export interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

export type Role = 'user' | 'assistant' | 'system'
