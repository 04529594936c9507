/**
 * Form of a request to an endpoint of OpenAI's Chat Completions API, as plain data. Receipts record it, because it determines the bytes
 * that are sent.
 */
export interface ChatForm {
  readonly name: 'chat-completions'
  /** Version of the translation from the Messages API. */
  readonly version: number
  /** Role of the system prompt. Default: `system`. */
  readonly system?: 'developer'
  /** Parameter that limits the reply's length. Default: `max_completion_tokens`. */
  readonly limit?: 'max_tokens'
  /** False if the usage of a stream is not requested. */
  readonly usage?: false
  /** True to insert an assistant message between tool results and the user's text. */
  readonly bridge?: true
  /** False to send a note instead of each picture. */
  readonly images?: false
  /** False to send a note instead of each file. */
  readonly files?: false
  /** Provider whose reasoning is sent back to it, and the message field that carries the reasoning. */
  readonly reasoning?: {
    readonly provider: string
    readonly field: 'reasoning_content' | 'reasoning' | 'reasoning_details'
  }
}
