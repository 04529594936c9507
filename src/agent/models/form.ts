/**
 * The form that a request has for an endpoint of OpenAI's Chat Completions API. Plain data: a receipt keeps it, as it decides the
 * bytes that are sent.
 */
export interface ChatForm {
  readonly name: 'chat-completions'
  /** Version of the translation. */
  readonly version: number
  /** The role of the system prompt. Default `system`. */
  readonly system?: 'developer'
  /** The parameter that limits the reply. Default `max_completion_tokens`. */
  readonly limit?: 'max_tokens'
  /** Do not ask for the usage of a stream. */
  readonly usage?: false
  /** Put a message of the assistant between the results of tools and what the user says. */
  readonly bridge?: true
  /** Send a note in place of each picture. */
  readonly images?: false
  /** Send a note in place of each file. */
  readonly files?: false
  /** Give the model's reasoning back to the provider that it came from, in this field of its messages. */
  readonly reasoning?: {
    readonly provider: string
    readonly field: 'reasoning_content' | 'reasoning' | 'reasoning_details'
  }
}
