import assert from 'node:assert/strict'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type {
  CallOptions,
  Model,
  ModelError,
  ModelRequest,
  Reply,
  ReplyEvent,
} from '../../agent/models/model.ts'

// Helpers that the cases of the contract share.

/** Scripted answer of a model's endpoint to one request. */
export interface ModelAnswer {
  /**
   * Text of the answer, and the tool calls after it. For a call, an `input` that is not an object simulates arguments that are not a
   * JSON object.
   */
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[]
  /** True if the answer is cut off at the token limit. */
  readonly isCut?: boolean
  /**
   * Error returned instead of a reply: the endpoint is overloaded, the rate limit is exceeded (retry after two seconds), the key is
   * wrong, or the prompt is too long.
   */
  readonly refuses?: 'overloaded' | 'rate-limited' | 'unauthorized' | 'too-long'
  /** Failure after part of the text: the connection breaks, nothing more is sent, or the stream ends without its final event. */
  readonly breaks?: 'drop' | 'stall' | 'end'
  /** True if no answer is ever sent. */
  readonly isSilent?: boolean
}

/** A model under test, with its scriptable endpoint. */
export interface ModelScene {
  readonly model: Model
  /** Name of a model that the endpoint provides. */
  readonly name: string
  /** Sets the answers to the endpoint's next requests, one for each request. */
  readonly answers: (...answers: readonly ModelAnswer[]) => void
  /** Returns the number of requests received by the endpoint. */
  readonly received: () => number
}

/** A rule for models, with its test. `run` throws if the model breaks the rule. */
export interface ModelCase {
  readonly title: string
  readonly run: (scene: ModelScene) => Promise<void>
}

/** Text that is long enough to be sent in several deltas. */
export const long = 'The parser reads the file line by line and stops at the first string that is not closed.'

const hello: readonly Block[] = [{ type: 'text', text: 'Why does the parser fail?' }]
const readFile = {
  name: 'read_file',
  description: 'Reads a file.',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}

export const requestTo = ({ name }: ModelScene, messages?: ModelRequest['messages']): ModelRequest => ({
  model: name,
  system: 'You fix parsers.',
  tools: [readFile],
  messages: messages ?? [{ role: 'user', content: hello }],
  parameters: { max_tokens: 1_000 },
})

export const call = (scene: ModelScene, options: CallOptions = {}, request = requestTo(scene)) =>
  scene.model.call(request, options)

export const replyOf = async (asked: ReturnType<Model['call']>): Promise<Reply> => {
  const answer = await asked
  assert.ok(isRight(answer), JSON.stringify(answer))
  return answer.right
}
export const errorOf = async (asked: ReturnType<Model['call']>): Promise<ModelError> => {
  const answer = await asked
  assert.ok(isLeft(answer), 'it replied')
  assert.ok(answer.left.message !== '', 'an error says what to do')
  return answer.left
}

export const isRetryable = (error: ModelError): boolean => 'retryable' in error && error.retryable

export const textOf = (content: readonly Block[]): string =>
  content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')

/** Returns the content in the deltas of a stream, one text per block index. */
export const contentOfEvents = (events: readonly ReplyEvent[]): readonly string[] => {
  const told: string[] = []
  for (const event of events) {
    const delta = (event['delta'] ?? {}) as { readonly [field: string]: unknown }
    const index = Number(event['index'])
    if (event.type === 'content_block_start') told[index] = ''
    if (event.type !== 'content_block_delta') continue
    const { text, partial_json: json, thinking } = delta
    told[index] += [text, json, thinking].filter((part) => typeof part === 'string').join('')
  }
  return told
}
