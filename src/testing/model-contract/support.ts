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

// What the cases of the contract share.

/** What the endpoint of a model under test is to do with one request. */
export interface ModelAnswer {
  /** What it says, as one text, then its calls. An input that is no object stands for arguments that are not. */
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[]
  /** It stops at its limit. */
  readonly isCut?: boolean
  /** It answers with an error: overloaded; too many requests, with the wish to wait for two seconds; a wrong key; a prompt too long. */
  readonly refuses?: 'overloaded' | 'rate-limited' | 'unauthorized' | 'too-long'
  /** After a part of the text the connection breaks, nothing more comes, or the stream ends without its end. */
  readonly breaks?: 'drop' | 'stall' | 'end'
  /** It never begins to answer. */
  readonly isSilent?: boolean
}

/** A model, and an endpoint that does as it is told. */
export interface ModelScene {
  readonly model: Model
  /** The name of a model that the endpoint has. */
  readonly name: string
  /** The endpoint answers its next requests with these, one each. */
  readonly answers: (...answers: readonly ModelAnswer[]) => void
  /** How many requests the endpoint has received. */
  readonly received: () => number
}

/** A rule for models, and its test: `run` throws if the model breaks it. */
export interface ModelCase {
  readonly title: string
  readonly run: (scene: ModelScene) => Promise<void>
}

/** Long enough to come in several parts. */
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

export const replied = async (asked: ReturnType<Model['call']>): Promise<Reply> => {
  const answer = await asked
  assert.ok(isRight(answer), JSON.stringify(answer))
  return answer.right
}
export const failed = async (asked: ReturnType<Model['call']>): Promise<ModelError> => {
  const answer = await asked
  assert.ok(isLeft(answer), 'it replied')
  assert.ok(answer.left.message !== '', 'an error says what to do')
  return answer.left
}

export const isRetryable = (error: ModelError): boolean => 'retryable' in error && error.retryable

export const textOf = (content: readonly Block[]): string =>
  content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')

/** The content that events tell of, each block by its index. */
export const toldBy = (events: readonly ReplyEvent[]): readonly string[] => {
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
