import {
  type Configuration,
  type ConversationEvent,
  messageOf,
  otherFieldsOf,
  type Receipt,
} from '../../events/events.ts'
import { digestOfList } from '../../agent/receipts/canonical.ts'
import { keyedDigest, keyOf } from '../../agent/receipts/receipt-digest.ts'
import {
  type RecordedMessage,
  type RecordedRequest,
  recordedRenderer,
} from '../../agent/receipts/recorded-schema.ts'
import { composeMessage, type WholeMessage, withBreakpoint } from '../../agent/receipts/recorded.ts'
import { receiptOptionsIn } from '../../agent/receipts/receipt-options.ts'
import type { RenderedMessage } from '../../projections/render/renderer.ts'
import { itemOf, messagesOf } from '../../projections/effective.ts'
import type { SliceGenerator } from '../../projections/slices.ts'
import * as E from 'fp-ts/lib/Either.js'
import type { AnsweredRequest, ComposedMessage } from './plan.ts'
import type { ActionOf } from './plan-markers.ts'
import type { Stage } from './stage.ts'

/** State of the import that is needed to make a receipt. */
interface ReceiptContext {
  readonly current: Stage
  readonly positions: ReadonlyMap<string, number>
  /** Returns the event at a position, including its content. */
  readonly eventAt: (position: number) => ConversationEvent | undefined
  readonly saltAt: (position: number) => string | undefined
  readonly isErased: (position: number) => boolean
  /** Returns the request that the action with this ref answers. */
  readonly requestOf: (ref: string) => AnsweredRequest | undefined
}

/** Makes the receipts of imported replies. */
export interface ReceiptMaker {
  /** Returns the receipt of a reply that is added next; undefined if its request shows content that was erased. */
  readonly make: (action: ActionOf<'message'>) => SliceGenerator<Receipt | undefined>
}

/** Number of requests whose messages are kept, so that later requests can continue from them. */
const mostKept = 8

/** A request with the messages of a receipt. */
interface MadeRequest {
  readonly messages: readonly RecordedMessage[]
  /** True if one of the messages has the role `system`. */
  readonly hasSystem: boolean
}

export const createReceiptMaker = (context: ReceiptContext): ReceiptMaker => {
  const { current, positions, eventAt, saltAt, isErased, requestOf } = context
  /** Requests of the last replies, by position. */
  const made = new Map<number, MadeRequest>()

  /** Returns the messages of a request with positions in place of refs; undefined if an action is not in the conversation. */
  const placed = (messages: readonly ComposedMessage[]): readonly RecordedMessage[] | undefined => {
    const list: RecordedMessage[] = []
    for (const message of messages) {
      const one = placedMessage(message, positions)
      if (!one) return undefined
      list.push(one)
    }
    return list
  }

  /** Returns all messages of a request, by the requests of the file that it builds on. */
  const expanded = (request: AnsweredRequest): readonly RecordedMessage[] | undefined => {
    const chain: AnsweredRequest[] = []
    const seen = new Set<string>()
    for (let each: AnsweredRequest | undefined = request; ;) {
      if (!each) return undefined
      chain.push(each)
      const { base }: AnsweredRequest = each
      if (base === undefined) break
      if (seen.has(base)) return undefined
      seen.add(base)
      each = requestOf(base)
    }
    const messages: ComposedMessage[] = []
    for (const { keep = 0, messages: more } of chain.toReversed()) {
      messages.length = Math.min(messages.length, keep)
      for (const message of more) messages.push(message)
    }
    return placed(messages)
  }

  /** Returns the request of an earlier reply, if its receipt has one on which a later receipt can build. */
  const baseAt = (position: number | undefined, request: AnsweredRequest): MadeRequest | undefined => {
    if (position === undefined) return undefined
    const known = made.get(position)
    if (known) return known
    const event = eventAt(position)
    const receipt = event?.type === 'MessageAppended' ? event.data.origin?.context : undefined
    const options = receipt && receiptOptionsIn(receipt)
    const before = request.base === undefined ? undefined : requestOf(request.base)
    const messages = options && E.isRight(options) && options.right.recorded && before && expanded(before)
    return messages ? { messages, hasSystem: receipt?.options['systemMessages'] === true } : undefined
  }

  const messageAt = (position: number): WholeMessage | undefined => {
    const event = eventAt(position)
    if (!event) return undefined
    if (event.type === 'MessageAppended') {
      const { role, content } = messageOf(event)
      const fields = otherFieldsOf(messageOf(event))
      return { role, content, ...(fields && { fields }) }
    }
    const item = itemOf(event)
    const [message] = item ? messagesOf(item) : []
    return message && { role: message.role, content: message.content }
  }

  function* make({ request }: ActionOf<'message'>): SliceGenerator<Receipt | undefined> {
    if (!request) return undefined
    const { base, keep = 0, cache, betas } = request
    const position = current.events.length - 1
    const basePosition = base === undefined ? undefined : positions.get(base)
    const before = baseAt(basePosition, request)
    const own = before ? placed(request.messages) : expanded(request)
    if (!own) return undefined
    const messages = before ? [...before.messages.slice(0, keep), ...own] : own
    yield* current.look()
    yield
    const { layout } = current.state().effective
    const shown = [
      ...layout.slots.map((slot) => slot.position),
      layout.configured ?? -1,
      layout.toolsFrom ?? -1,
    ]
    // Nobody can tell what was sent.
    if (shown.some(isErased)) return undefined
    const recorded: RecordedRequest = {
      ...(before && { base: basePosition as number, keep }),
      messages: own,
      ...(cache.length > 0 && { cache }),
    }
    const configuration: Configuration = layout.configuration ?? {}
    const marked = (value: unknown, place: string): unknown =>
      cache.reduce<unknown>(
        (whole, { path: [first, ...path], value: breakpoint }) =>
          first === place ? withBreakpoint(whole, path, breakpoint) : whole,
        value,
      )
    const markedAt = new Map<number, typeof cache>()
    for (const each of cache) {
      const [first, index] = each.path
      if (first === 'messages' && typeof index === 'number')
        markedAt.set(index, [...(markedAt.get(index) ?? []), each])
    }
    const messageIn = (index: number): RenderedMessage | undefined => {
      const message = messages[index]
      if (!message) return undefined
      const { role, content, fields } = composeMessage(message, messageAt)
      const plain = { role, content, ...fields }
      return (markedAt.get(index) ?? []).reduce<unknown>(
        (whole, { path: [, , ...path], value: breakpoint }) => withBreakpoint(whole, path, breakpoint),
        plain,
      ) as RenderedMessage
    }
    const digest = digestOfList({
      items: messages,
      messageAt: messageIn,
      stable: Math.min(messages.length, ...markedAt.keys()),
      system: marked(configuration.system, 'system') as Configuration['system'],
      tools: marked(configuration.tools, 'tools') as Configuration['tools'],
    })
    // A copy, because the layout's own list changes in place.
    const slots = [...layout.slots]
    const key = keyOf(slots, (index) => saltAt(slots[index]?.position ?? -1), {
      configuredSalt: saltAt(layout.configured ?? -1),
      formerSalt: saltAt(layout.toolsFrom ?? -1),
    })
    const hasSystem =
      before?.hasSystem === true ||
      own.some((message) => composeMessage(message, messageAt).role === 'system')
    made.set(position + 1, { messages, hasSystem })
    const [oldest] = made.keys()
    if (made.size > mostKept && oldest !== undefined) made.delete(oldest)
    return {
      position,
      digest: keyedDigest(key, digest),
      options: {
        renderer: recordedRenderer,
        ...(hasSystem && { systemMessages: true }),
        ...(betas.length > 0 && { betas }),
        repairs: {},
        keyed: true,
        recorded,
      },
    }
  }
  return { make }
}

const placedMessage = (
  message: ComposedMessage,
  positions: ReadonlyMap<string, number>,
): RecordedMessage | undefined => {
  if ('items' in message) {
    const items = message.items.flatMap((ref) => positions.get(ref) ?? [])
    return items.length === message.items.length ? { ...message, items } : undefined
  }
  let isWhole = true
  const at = (ref: string): number => {
    const position = positions.get(ref)
    if (position === undefined) isWhole = false
    return position ?? 0
  }
  const content = message.content.map((part) =>
    'text' in part
      ? {
          text: part.text.map((piece): string | [number, number, number, number] =>
            typeof piece === 'string' ? piece : [at(piece[0]), piece[1], piece[2], piece[3]],
          ),
        }
      : ([at(part[0]), part[1]] as [number, number]),
  )
  return isWhole ? { ...message, content } : undefined
}
