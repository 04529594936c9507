/**
 * Form of a request for an endpoint of OpenAI's Chat Completions API. Plain data: a receipt keeps it, as it determines the bytes that
 * are sent.
 */
export interface ChatForm {
  readonly name: 'chat-completions'
  /** Version of the translation. */
  readonly version: number
  /** Role of the system prompt. Default: `system`. */
  readonly system?: 'developer'
  /** Parameter that limits the reply. Default: `max_completion_tokens`. */
  readonly limit?: 'max_tokens'
  /** Do not request the usage of a stream. */
  readonly usage?: false
  /** Insert an assistant message between tool results and the user's text. */
  readonly bridge?: true
  /** Send a note in place of each picture. */
  readonly images?: false
  /** Send a note in place of each file. */
  readonly files?: false
  /** Return the model's reasoning to the provider it came from, in this field of its messages. */
  readonly reasoning?: {
    readonly provider: string
    readonly field: 'reasoning_content' | 'reasoning' | 'reasoning_details'
  }
}
