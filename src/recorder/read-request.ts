import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { type Block, unknownBlock } from '../events/blocks.ts'
import { isRole } from '../events/accept.ts'
import type { Configuration, Role } from '../events/events.ts'
import { type Fields, isFields } from '../events/json.ts'
import { withoutSecrets } from '../events/secrets.ts'
import { billing, type RecordedBody, type RecordedRequest } from '../agent/receipts/recorded-schema.ts'
import type { WholeMessage } from '../agent/receipts/recorded.ts'
import { sessionInMetadata } from './clients.ts'
import { apiAt, type RecordedApi } from './exchange.ts'
import { keysOf, type MessageKeys } from './message-keys.ts'

/** A message of a request, without cache breakpoints, and the keys by which it is compared. */
export interface ReadMessage extends MessageKeys {
  readonly message: WholeMessage
  /** True if the content was sent as a string. */
  readonly isString: boolean
}

/** A request in the form in which it is recorded. */
export interface ReadRequest {
  readonly api: RecordedApi
  /** The body without the ids of accounts, as JSON. */
  readonly text: string
  readonly body: Fields
  readonly configuration: Configuration
  readonly messages: readonly ReadMessage[]
  readonly cache: NonNullable<RecordedRequest['cache']>
  readonly form: RecordedBody
  /** True if `text` is the JSON that `JSON.stringify` writes, so that its bytes can be made again. */
  readonly isPlain: boolean
  /** The beginning of the system prompt and the names of the tools, which tell the agents of one session apart. */
  readonly signature: string
}

/** Maximum size of a body that is read, in bytes. */
export const maxBody = 64 * 1024 * 1024

const decoders: Readonly<Record<string, (bytes: Uint8Array, options: object) => Uint8Array>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Returns a body as text, decompressed. */
export const textIn = (bytes: Uint8Array, encoding = ''): string => {
  const decode = decoders[encoding.trim().toLowerCase()]
  return Buffer.from(decode ? decode(bytes, { maxOutputLength: maxBody }) : bytes).toString('utf8')
}

/** Reads a request; undefined if its path or its body is no request to a model. */
export const readRequest = (path: string, text: string): ReadRequest | undefined => {
  const api = apiAt(path)
  if (!api) return undefined
  const given: unknown = JSON.parse(text)
  if (!isFields(given)) return undefined
  const body = withoutAccounts(given)
  const list = body[fieldNames[api].messages]
  if (!Array.isArray(list) || !list.every(isFields)) return undefined
  const { configuration, tag, cache } = configurationIn(api, body)
  const messages = list.map((item: Fields, index) => messageIn(api, item, index, cache))
  return {
    api,
    text: body === given ? text : JSON.stringify(body),
    body,
    configuration,
    messages,
    cache,
    form: {
      ...(api !== 'messages' && { api }),
      fields: Object.keys(body),
      ...(tag !== undefined && { billing: tag }),
    },
    isPlain: JSON.stringify(given) === text,
    signature: signatureOf(configuration),
  }
}

/** Fields of a body that say whose account sent it, by name. */
const accountFields = ['client_metadata', 'safety_identifier', 'user']

/** Returns a body without the ids of accounts and devices. Of `metadata.user_id`, only the session is kept. */
const withoutAccounts = (body: Fields): Fields => {
  const { metadata } = body
  const hasUser = isFields(metadata) && 'user_id' in metadata
  if (!hasUser && !accountFields.some((name) => name in body)) return body
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]): (readonly [string, unknown])[] => {
      if (accountFields.includes(name)) return []
      if (name !== 'metadata' || !hasUser) return [[name, value]]
      const session = sessionInMetadata(body)
      const user = session === undefined ? '' : JSON.stringify({ session_id: session })
      return [[name, { ...metadata, user_id: user }]]
    }),
  )
}

/**
 * Returns the JSON of a body without the ids of accounts and devices, otherwise unchanged; undefined if they cannot be taken out of it.
 */
export const textWithoutAccounts = (text: string): string | undefined => {
  const given: unknown = JSON.parse(text)
  if (!isFields(given)) return undefined
  const body = withoutAccounts(given)
  if (body === given) return text
  return JSON.stringify(given) === text ? JSON.stringify(body) : undefined
}

/** Names of the fields with the messages and the system prompt. In Chat Completions, the system prompt is a message. */
const fieldNames: Readonly<Record<RecordedApi, { readonly messages: string; readonly system?: string }>> = {
  messages: { messages: 'messages', system: 'system' },
  'chat-completions': { messages: 'messages' },
  responses: { messages: 'input', system: 'instructions' },
}

type Breakpoints = NonNullable<RecordedRequest['cache']>[number][]

const configurationIn = (
  api: RecordedApi,
  body: Fields,
): { configuration: Configuration; tag: string | undefined; cache: Breakpoints } => {
  const cache: Breakpoints = []
  const { messages, system: prompt } = fieldNames[api]
  const { model, tools } = body
  const own = new Set([
    messages,
    prompt,
    ...(typeof model === 'string' ? ['model'] : []),
    ...(Array.isArray(tools) ? ['tools'] : []),
  ])
  const parameters = Object.fromEntries(Object.entries(body).filter(([name]) => !own.has(name)))
  const given = prompt === undefined ? undefined : body[prompt]
  const [first, ...later]: readonly unknown[] = Array.isArray(given) ? given : []
  const tag = isFields(first) ? tagIn(first) : undefined
  const system = tag === undefined ? given : later
  const marked = (value: unknown, place: string): unknown =>
    Array.isArray(value)
      ? value.map((one: unknown, index) => withoutBreakpoint(one, [place, index], cache))
      : value
  const configuration = {
    ...(system !== undefined && { system: marked(system, 'system') }),
    ...(Array.isArray(tools) && { tools: marked(tools, 'tools') }),
    ...(typeof model === 'string' && { model }),
    parameters: withoutSecrets(parameters),
  } as Configuration
  return { configuration, tag, cache }
}

const tagIn = ({ type, text, ...others }: Fields): string | undefined =>
  type === 'text' && typeof text === 'string' && Object.keys(others).length === 0 && billing.test(text)
    ? text
    : undefined

/** Returns a block without its cache breakpoint, which is added to the list. */
const withoutBreakpoint = (
  block: unknown,
  path: readonly (string | number)[],
  cache: Breakpoints,
): unknown => {
  if (!isFields(block)) return block
  const { cache_control: value, ...rest } = block
  // Only a breakpoint at the end of a block can be put back where it was.
  const isLast = Object.keys(block).at(-1) === 'cache_control'
  if (!isLast || !isFields(value) || !Object.values(value).every((one) => typeof one === 'string'))
    return block
  cache.push({ path: [...path], value: value as Record<string, string> })
  return rest
}

const messageIn = (api: RecordedApi, item: Fields, index: number, cache: Breakpoints): ReadMessage => {
  if (api === 'responses') return withKeys(itemMessage(item), false)
  if (api === 'chat-completions') {
    const message = chatMessage(item)
    return withKeys(message, message.content[0]?.type === 'text')
  }
  const { role, content, ...fields } = item
  const isString = typeof content === 'string'
  const blocks = isString
    ? [{ type: 'text', text: content }]
    : (content as readonly unknown[]).map((block, at) =>
        withoutBreakpoint(block, ['messages', index, 'content', at], cache),
      )
  const message = {
    role: role as Role,
    content: blocks as readonly Block[],
    ...(Object.keys(fields).length > 0 && { fields }),
  }
  return withKeys(message, isString)
}

/** Returns a message of Chat Completions as a message. Plain text stays text; anything else is kept as it is, in one block. */
export const chatMessage = (item: Fields): WholeMessage => {
  const { role, content } = item
  if (isRole(role) && typeof content === 'string' && Object.keys(item).join() === 'role,content')
    return { role, content: [{ type: 'text', text: content }] }
  const own = isRole(role) ? role : role === 'developer' ? 'system' : 'user'
  return { role: own, content: [unknownBlock({ type: 'chat_message', item })] }
}

const replyTypes = /^(?:reasoning|compaction|.*_call)$/

/** Returns an item of the Responses API as a message that has the item as it is, in one block. */
export const itemMessage = (item: Fields): WholeMessage => {
  const { role, type } = item
  const isReply = role === 'assistant' || (role === undefined && replyTypes.test(String(type)))
  const own = isReply ? 'assistant' : role === 'system' || role === 'developer' ? 'system' : 'user'
  return { role: own, content: [unknownBlock({ type: 'responses_item', item })] }
}

const withKeys = (message: WholeMessage, isString: boolean): ReadMessage => ({
  message,
  isString,
  ...keysOf(message),
})

/** Length of the beginning of the system prompt that tells agents apart. */
const headLength = 200
export const signatureOf = ({ system, tools = [] }: Configuration): string => {
  const head = JSON.stringify(system ?? '').slice(0, headLength)
  return `${head} ${tools
    .map(({ name, function: inner }) => String(name ?? (inner as Fields)?.['name']))
    .toSorted()
    .join()}`
}
