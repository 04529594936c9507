import {
  type Configuration,
  type Container,
  type ConversationEvent,
  contentOf,
  type Covers,
  type Message,
  messageOf,
  otherFieldsOf,
  type Origin,
  type Policy,
  type Role,
  type TokenChange,
} from '../events/events.ts'
import { hasNoEffect } from '../events/event-traits.ts'
import type { Block } from '../events/blocks.ts'
import { freeze } from '../events/freeze.ts'
import type { Fields } from '../events/json.ts'
import { draftOf, evolve, fold, type HistoryLayout, type FoldObserver } from './layout.ts'
import { lastOf, type Log, resolve } from './path.ts'

interface Placed {
  readonly position: number
  /** Time of the event in ISO 8601, UTC. */
  readonly time: string
  /** Salt of the event; absent in events of version 0.1.0. */
  readonly salt?: string | undefined
  /** Time in ISO 8601 at which the content was erased; absent if it was not. */
  readonly erased?: string | undefined
}
/** A message as the model sees it. */
export interface MessageItem extends Placed {
  readonly kind: 'message'
  readonly messageId: string
  readonly role: Role
  readonly content: readonly Block[]
  /** Fields that only the message's API or program knows, such as `output_config`; absent if there are none. */
  readonly fields?: Fields
  readonly origin?: Origin
}
interface MarkerItem extends Placed {
  readonly covers: Covers
  readonly messagesHidden: number
  readonly tokens: TokenChange
  /** The newest code execution container in the content that the marker hides. */
  readonly container?: Container | undefined
  /** Reason for the marker, if a turn wrote it automatically. */
  readonly policy?: Policy
}
/** A summary shown in place of a condensed slice. */
export interface SummaryItem extends MarkerItem {
  readonly kind: 'summary'
  readonly messages: readonly Message[]
  readonly method: 'model' | 'provider' | 'client' | 'manual'
  readonly origin?: Origin
}
/** A note shown in place of a truncated slice. */
export interface TruncationItem extends MarkerItem {
  readonly kind: 'truncation'
  readonly reason?: string
}
/** An item of the effective history, tagged on `kind`. */
export type Item = MessageItem | SummaryItem | TruncationItem

/** The effective history: the items that the model sees, in order, with everything else that goes into a request. */
export interface Effective {
  /** Position of this history. */
  readonly at: number
  /** Head at position `at`: `at` itself, or the target if the event at `at` is a rewind. */
  readonly head: number
  readonly items: readonly Item[]
  readonly layout: HistoryLayout
}

/**
 * Converts a message or marker event to an item; undefined for other events. The item is read-only, because it is both cached and given
 * to callers.
 */
export const itemOf = (event: ConversationEvent): Item | undefined => freeze(itemIn(event))

/** Converts an event like `itemOf`, but to a new object that is not read-only. For callers that keep no part of it. */
export const itemIn = (event: ConversationEvent): Item | undefined => {
  if (hasNoEffect(event)) return undefined
  const { position } = event
  const { time, salt, erased } = event.metadata
  const salted = erased ? { erased: erased.time } : salt !== undefined && { salt }
  switch (event.type) {
    case 'MessageAppended': {
      const message = messageOf(event)
      const { messageId = event.id, role, origin, content } = message
      const fields = otherFieldsOf(message)
      const item = { kind: 'message' as const, position, time, ...salted, messageId, role, content }
      const whole = fields ? { ...item, fields } : item
      return origin ? { ...whole, origin } : whole
    }
    case 'Condensed': {
      const { covers, messagesHidden, tokens, method, origin, policy, container } = event.data
      const messages = contentOf(event)
      return {
        kind: 'summary',
        position,
        time,
        ...salted,
        messages,
        covers,
        method,
        messagesHidden,
        tokens,
        ...(origin && { origin }),
        ...(policy && { policy }),
        ...(container && { container }),
      }
    }
    case 'Truncated': {
      const { covers, messagesHidden, tokens, reason, policy, container } = event.data
      return {
        kind: 'truncation',
        position,
        time,
        ...salted,
        covers,
        messagesHidden,
        tokens,
        ...(reason !== undefined && { reason }),
        ...(policy && { policy }),
        ...(container && { container }),
      }
    }
    case 'Restored':
    case 'Rewound':
    case 'Configured':
      return undefined
  }
}

/** Reports whether a history shows an event whose content was erased. */
export const showsErased = ({ items, layout }: Effective): boolean =>
  layout.configuredSalt === null ||
  layout.formerSalt === null ||
  items.some(({ erased }) => erased !== undefined)

/** Returns the current configuration; empty if no configuration was ever set. */
export const configurationOf = ({ layout }: Effective): Configuration => layout.configuration ?? {}

/** Returns the messages that an item shows: the message itself, the messages of a summary, or an empty list for a truncation. */
export const messagesOf = (item: Item): readonly Message[] =>
  item.kind === 'message' ? [item] : item.kind === 'summary' ? item.messages : []

/** Returns the fields of a message that an item shows, other than role and content; undefined if it has none. */
export const fieldsOf = (item: Item, message: Message): Fields | undefined =>
  item.kind === 'message' ? item.fields : otherFieldsOf(message)

export const isReply = (item: Item | undefined): item is MessageItem =>
  item?.kind === 'message' && item.role === 'assistant'

/**
 * Returns an item as a single message: the message itself, or the replacement of a message edited in place; undefined for any other
 * marker.
 */
export const messageIn = (item: Item): Message | undefined => {
  if (item.kind === 'message') return item
  return item.kind === 'summary' && isEdit(item) ? item.messages[0] : undefined
}

const isEdit = ({ covers, messagesHidden, messages, method }: SummaryItem): boolean =>
  covers.first === covers.last &&
  messagesHidden === 1 &&
  messages.length === 1 &&
  (method === 'client' || method === 'manual')

/**
 * Returns the effective history at `at`, folded from the first event of the log. Simple, but takes time proportional to the length of
 * the log.
 */
export const effective = (log: Log, at = lastOf(log)): Effective => {
  const { layout } = fold(log, at)
  return {
    at,
    head: resolve(log, at),
    layout,
    items: layout.slots.flatMap(({ position }) => itemAt(log, position)),
  }
}

const itemAt = (log: Log, position: number): readonly Item[] => {
  const event = log[position]
  const item = event && itemOf(event)
  return item ? [item] : []
}

/**
 * Applies events to an effective history. The first event must come right after the history. Returns undefined if earlier events are
 * needed, as for a rewind, a restore or an erasure.
 *
 * @param seen called with each event and the slots that the event hid
 */
export const evolveEffective = (
  before: Effective,
  events: readonly ConversationEvent[],
  seen?: FoldObserver,
): Effective | undefined => {
  const last = events.at(-1)
  if (!last) return before
  const draft = draftOf(before.layout)
  const items = [...before.items]
  for (const event of events) {
    if (event.type === 'Rewound' || event.type === 'Restored' || event.type === 'Erased') return undefined
    const slots = evolve(draft, event, () => undefined)
    seen?.(event, slots)
    const item = itemOf(event)
    if (!item) continue
    if (item.kind === 'message') items.push(item)
    else if (slots) {
      const first = items.findLastIndex(({ position }) => position === slots[0]?.position)
      items.splice(first, slots.length, item)
    }
  }
  return { at: last.position, head: last.position, layout: draft, items }
}

/** Applies a configuration event with this salt that comes right after an effective history. */
export const configure = (
  before: Effective,
  position: number,
  data: Configuration,
  salt?: string,
): Effective => {
  const draft = draftOf(before.layout)
  evolve(draft, { type: 'Configured', data, position, metadata: { salt } }, () => undefined)
  return { at: position, head: position, items: before.items, layout: draft }
}

/** Returns the items that a slice covers; empty if the slice is not shown. */
export const sliceOf = ({ items }: Effective, { first, last }: Covers): readonly Item[] => {
  const from = items.findIndex(({ position }) => position === first)
  const to = items.findIndex(({ position }) => position === last)
  return from < 0 ? [] : items.slice(from, to + 1)
}
