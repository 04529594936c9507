import type { Block } from '../../events/blocks.ts'
import type { Message } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { type Effective, fieldsOf, type Item, messagesOf } from '../../projections/effective.ts'
import { memo } from '../../projections/memo.ts'
import type { RenderResult } from '../../projections/render/renderer.ts'
import type { ModelRequest } from '../models/model.ts'
import type { RecordedBlock, RecordedBody, RecordedMessage, RecordedRequest } from './recorded-schema.ts'

/** Returns the composition in the options of a receipt, unchecked; undefined if the request was rendered. */
const recordedIn = ({ recorded }: Fields = {}): RecordedRequest | undefined =>
  isFields(recorded) ? (recorded as unknown as RecordedRequest) : undefined

/** Returns all messages of a composition; undefined if an earlier receipt that it builds on is missing. */
export const messagesRecorded = (
  own: RecordedRequest,
  recordedAt: (position: number) => RecordedRequest | undefined,
): readonly RecordedMessage[] | undefined => {
  const chain: RecordedRequest[] = []
  let last = Infinity
  for (let each: RecordedRequest | undefined = own; ;) {
    if (!each) return undefined
    chain.push(each)
    const { base } = each
    if (base === undefined) break
    // Each base is earlier, so a changed receipt cannot make a circle.
    if (base >= last) return undefined
    last = base
    each = recordedAt(base)
  }
  const messages: RecordedMessage[] = []
  for (const { keep = 0, messages: more } of chain.toReversed()) {
    messages.length = Math.min(messages.length, keep)
    for (const message of more) messages.push(message)
  }
  return messages
}

/** A message with its fields other than role and content. */
export interface WholeMessage extends Message {
  readonly fields?: Fields
}

/**
 * Composes a message from events. Parts that are no longer shown are left out, which the digest reveals.
 *
 * @param messageAt returns the message that the event at a position shows
 */
export const composeMessage = (
  recorded: RecordedMessage,
  messageAt: (position: number) => WholeMessage | undefined,
): WholeMessage => {
  if (!('items' in recorded)) {
    const { role, fields } = recorded
    const content = recorded.content.flatMap((part) => blocksOf(part, messageAt))
    return { role, content, ...(fields && { fields }) }
  }
  const parts = recorded.items.map(messageAt)
  const [first] = parts
  // The same object as before, so that hashing can continue.
  if (first && parts.length === 1) return first
  return { role: first?.role ?? 'user', content: parts.flatMap((part) => part?.content ?? []) }
}

const blocksOf = (
  part: RecordedBlock,
  messageAt: (position: number) => WholeMessage | undefined,
): readonly Block[] => {
  if (!('text' in part)) return [messageAt(part[0])?.content[part[1]] ?? []].flat()
  const pieces = part.text.map((piece) => {
    if (typeof piece === 'string') return piece
    const [position, index, start, end] = piece
    const text = messageAt(position)?.content[index]?.['text']
    return typeof text === 'string' ? text.slice(start, end) : ''
  })
  return [{ type: 'text', text: pieces.join('') }]
}

/** Returns all messages of the recorded request that the reply at a position answers; undefined if the history shows none there. */
export const messagesRecordedAt = (
  { items }: Pick<Effective, 'items'>,
  position: number,
): readonly RecordedMessage[] | undefined => {
  const at = new Map(items.map((item) => [item.position, item]))
  const own = recordedOf(at.get(position))
  return own && messagesRecorded(own, (base) => recordedOf(at.get(base)))
}

const recordedOf = (item: Item | undefined): RecordedRequest | undefined =>
  item?.kind === 'message' ? recordedIn(item.origin?.context?.options) : undefined

/** Makes a recorded request from a history. Messages whose events the history no longer shows are incomplete. */
export const recordedRequest = (
  { items, layout }: Effective,
  recorded: RecordedRequest,
): RenderResult & { readonly strings: readonly number[] } => {
  const at = new Map(items.map((item) => [item.position, item]))
  const list = messagesRecorded(recorded, (position) => recordedOf(at.get(position))) ?? []
  const messages = list.map((each) => {
    const { role, content, fields } = composedOf(each, at)
    return { role, content, ...fields }
  })
  const { system, tools } = layout.configuration ?? {}
  const request = { ...(system !== undefined && { system }), ...(tools && { tools }), messages }
  const marked = (recorded.cache ?? []).reduce<unknown>(
    (value, { path, value: breakpoint }) => withBreakpoint(value, path, breakpoint),
    request,
  )
  const strings = list.flatMap(({ string }, index) => (string ? [index] : []))
  return { ...(marked as typeof request), strings, repairs: [], awaits: 'model' } as unknown as ReturnType<
    typeof recordedRequest
  >
}

/** Composed forms of the messages of receipts. */
const cells = memo<RecordedMessage, { made?: Composed }>(() => ({}))

/** A composed message, and the items that it was made of. */
interface Composed {
  readonly items: readonly (Item | undefined)[]
  readonly message: WholeMessage
}

/** Composes a message, or returns the one made from the same items before, so that hashing can continue. */
const composedOf = (recorded: RecordedMessage, at: ReadonlyMap<number, Item>): WholeMessage => {
  const cell = cells(recorded)
  const used = positionsIn(recorded).map((position) => at.get(position))
  if (cell.made && used.every((item, index) => item === cell.made?.items[index])) return cell.made.message
  const message = composeMessage(recorded, (position) => messageOfItem(at.get(position)))
  cell.made = { items: used, message }
  return message
}

const messageOfItem = (item: Item | undefined): WholeMessage | undefined => {
  const [message] = item ? messagesOf(item) : []
  const fields = item && message && fieldsOf(item, message)
  return message && { role: message.role, content: message.content, ...(fields && { fields }) }
}

/** Returns the positions of all events that a message is made of. */
const positionsIn = (recorded: RecordedMessage): readonly number[] =>
  'items' in recorded
    ? recorded.items
    : recorded.content.flatMap((part) =>
        'text' in part
          ? part.text.flatMap((piece) => (typeof piece === 'string' ? [] : [piece[0]]))
          : [part[0]],
      )

/** Returns a value with a cache breakpoint at this path; the value itself if it has nothing there. */
export const withBreakpoint = (
  value: unknown,
  [key, ...path]: readonly (string | number)[],
  breakpoint: Fields,
): unknown => {
  if (key === undefined) return isFields(value) ? { ...value, cache_control: breakpoint } : value
  if (Array.isArray(value))
    return typeof key === 'number' && key < value.length
      ? value.with(key, withBreakpoint(value[key], path, breakpoint))
      : value
  return isFields(value) && Object.hasOwn(value, key)
    ? { ...value, [key]: withBreakpoint(value[key], path, breakpoint) }
    : value
}

/**
 * Returns the body of a recorded request, with the contents that were sent as strings.
 *
 * @param form form of the body, if a recorder saw it; the fields then have the order in which they were sent
 */
export const recordedBody = (
  request: ModelRequest,
  strings: readonly number[],
  form?: RecordedBody,
): Fields => {
  const isString = new Set(strings)
  const messages = request.messages.map((message, index): Fields => {
    const [block, ...others] = message.content
    const text =
      isString.has(index) && others.length === 0 && block && !('cache_control' in block) && block['text']
    return { ...message, ...(typeof text === 'string' && { content: text }) }
  })
  const { parameters, messages: _, ...rest } = request
  if (!form) return { ...parameters, ...rest, messages }
  const fields = { ...parameters, ...fieldsByApi(form, rest, messages) }
  return Object.fromEntries(form.fields.flatMap((name) => (name in fields ? [[name, fields[name]]] : [])))
}

/** Returns the fields of a body other than its parameters, by the names of its API. */
const fieldsByApi = (
  { api, billing }: RecordedBody,
  { system, ...rest }: Fields,
  messages: readonly Fields[],
): Fields => {
  const named = system !== undefined && { [api === 'responses' ? 'instructions' : 'system']: system }
  if (api === 'responses') return { ...rest, ...named, input: messages.map(itemIn) }
  if (api === 'chat-completions') return { ...rest, messages: messages.map(itemIn) }
  if (billing === undefined) return { ...rest, ...named, messages }
  const first = { type: 'text', text: billing }
  return { ...rest, messages, system: [first, ...(Array.isArray(system) ? system : [])] }
}

/** Returns the item or message of another API as it was sent: the only block of its message holds it, or it is a plain text. */
const itemIn = (message: Fields): unknown => {
  const { content } = message
  const [block]: readonly unknown[] = Array.isArray(content) ? content : []
  return isFields(block) && 'item' in block ? block['item'] : message
}
