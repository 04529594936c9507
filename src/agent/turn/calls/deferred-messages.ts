import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../../../commands/command.ts'
import { beginsTurn, isTurn } from '../../../commands/state.ts'
import { isMarker, isMarkerOrRestore } from '../../../events/event-traits.ts'
import type { ConversationEvent, Covers, Event, Message } from '../../../events/events.ts'
import { contentOf, messageOf, START } from '../../../events/events.ts'
import type { Effective, Item } from '../../../projections/effective.ts'
import { isReply, itemOf, messageIn, messagesOf } from '../../../projections/effective.ts'
import { pathAfter } from '../../../projections/path.ts'
import { isServerResult, isServerUse } from '../../../projections/render/renderer.ts'
import { requestOf, type RequestOptions } from '../../receipts/request.ts'
import { isCall, openCalls } from './open-calls.ts'

type Marker = 'Condensed' | 'Truncated'
type Carried = Marker | 'Restored' | 'Configured'

/** User messages at the end of a history that may have to wait for results, and the history without them. */
export interface DeferredMessages {
  /** History without the user's last messages. If `again` is empty, it equals the log's history at `before.at`. */
  readonly before: Effective
  readonly said: readonly NewMessage[]
  /** Other events since the first of the user's last messages. Recorded again after `before.at`, they produce the history `before`. */
  readonly again: readonly Event<Carried>[]
}

/**
 * Reports whether the user's last messages must wait for the next reply. They must if they follow the results of client tools that were
 * called together with a server tool: the server tool's result comes with the next reply, but only if no other message precedes it.
 */
export const isHeldBack = ({ before }: DeferredMessages, options: RequestOptions): boolean =>
  isResults(before.items.at(-1)) && waitsForServer(before, options)

/** Reports whether the result of a server tool is outstanding. It comes only with a reply to results that no message follows. */
export const waitsForServer = (before: Effective, options: RequestOptions): boolean => {
  const rendered = requestOf(before, options)
  if (E.isLeft(rendered)) return false
  const blocks = rendered.right.messages.flatMap(({ content }) => content)
  const served = new Set(blocks.filter(isServerResult).map((block) => block['tool_use_id']))
  return blocks.some((block) => isServerUse(block) && !served.has(block['id']))
}

/** Returns the position after which to look for user messages that follow tool results; undefined if there are none. */
export const deferralStart = ({ items }: Effective): number | undefined => {
  const last = items.findLastIndex((item) => !isSaid(item))
  return last < items.length - 1 && isResults(items[last]) ? endOf(items.slice(0, last + 1)) : undefined
}

/** Returns the position after which to look for user messages that follow calls without a result; undefined if there are none. */
export const overtakenSince = (now: Effective): number | undefined => {
  const { items } = now
  const reply = items.findLastIndex((item) => messageIn(item)?.role !== 'user' && !isSystem(messageIn(item)))
  const said = items.findIndex((item, index) => index > reply && speaks(messageIn(item)))
  const last = items[said - 1]
  if (said < 0 || !(isResults(last) || (isReply(last) && last.content.some(isCall)))) return undefined
  const before = items.slice(0, said)
  return openCalls({ ...now, items: before }).length > 0 ? endOf(before) : undefined
}

/** Returns the position of the last item that is a message. Skips edited items, because an edit may be newer than later messages. */
const endOf = (items: readonly Item[]): number =>
  items.findLast(({ kind }) => kind === 'message')?.position ?? START

/**
 * Returns the user's last messages, each with its original content and the content shown for it. Markers, restores and configurations
 * may lie between them.
 *
 * @param since the events after `position`, at least through `now.at`
 * @returns undefined if no such messages exist, or if another event since then prevents moving them
 */
export const lastUserMessages = (
  now: Effective,
  since: readonly ConversationEvent[],
  position: number,
): DeferredMessages | undefined => {
  const path = pathAfter(since, position, now.at)
  if (!path) return undefined
  const from = path.findLastIndex((event) => !mayWait(event) && !comesBetween(event)) + 1
  const first = path.findIndex(
    (event, index) => index >= from && comesBetween(event) && contentOf(event).some(speaks),
  )
  const taken = first < 0 ? undefined : taking(path.slice(first), now.at + 2)
  if (!taken || !now.items.slice(-taken.said.length).every(({ position: at }) => taken.shown.has(at)))
    return undefined
  const { shown, ...held } = taken
  const head = path[first - 1]?.position ?? position
  const isLeft = (item: { readonly position: number }): boolean => !shown.has(item.position)
  const layout = { ...now.layout, slots: now.layout.slots.filter(isLeft) }
  return { ...held, before: { at: head, head, items: now.items.filter(isLeft), layout } }
}

/** Reports whether a reply computed before the event may be recorded either before or after it. */
export const mayWait = (event: ConversationEvent): boolean =>
  event.type === 'Configured' || isMarkerOrRestore(event) || beginsTurn(event)

/** Reports whether an event is a message that the model did not write: such a message may come between calls and their results. */
const comesBetween = ({ type, data }: ConversationEvent): boolean =>
  type === 'MessageAppended' && data.role !== 'assistant'

const isSystem = (message: Message | undefined): boolean => message?.role === 'system'

/** Reports whether a message contains more than tool results, and thereby ends the wait for results. */
const speaks = (message: Message | undefined): boolean =>
  message !== undefined && (isSystem(message) ? message.content.length > 0 : isTurn(message))

interface Taken extends Pick<DeferredMessages, 'said' | 'again'> {
  /** Positions of the user messages and of their edits. */
  readonly shown: ReadonlySet<number>
}

/** Separates the user messages from other events; undefined if a marker covers such a message together with another item. */
const taking = (events: readonly ConversationEvent[], next: number): Taken | undefined => {
  const said: NewMessage[] = []
  const again: Event<Carried>[] = []
  const placeOf = new Map<number, number>()
  const movedTo = new Map<number, number>()
  const moved = (position: number): number => movedTo.get(position) ?? position
  const restored = new Set(events.map((event) => (event.type === 'Restored' ? event.data.marker : undefined)))
  const from = events[0]?.position ?? Infinity
  for (const event of events) {
    const { type, position } = event
    // A marker in this range that was restored has no effect.
    if (isMarker(event) && restored.has(position)) continue
    if (type === 'Restored') {
      const { marker } = event.data
      if (marker < from) again.push({ type, data: { marker } })
    } else if (type === 'MessageAppended') placeOf.set(position, said.push(messageOf(event)) - 1)
    else if (type === 'Configured') again.push({ type, data: event.data })
    else if (isMarker(event)) {
      const { first, last } = event.data.covers
      const place = placeOf.get(first)
      const shown = first === last ? shownBy(event) : undefined
      if (place !== undefined && shown) {
        said[place] = { ...(said[place] as NewMessage), shown }
        placeOf.set(position, place)
      } else if (placeOf.has(first) || placeOf.has(last)) return undefined
      else {
        movedTo.set(position, next + again.length)
        again.push(markerFor(event, { first: moved(first), last: moved(last) }))
      }
    }
  }
  return { said, again, shown: new Set(placeOf.keys()) }
}

/** Returns the marker without its view, which depends on the marker's position. */
const markerFor = (event: ConversationEvent<Marker>, covers: Covers): Event<Marker> => {
  const { view: _, ...data } = { ...event.data, covers }
  return { type: event.type, data } as Event<Marker>
}

/** Returns the content that an edit in place shows instead of the message's original content. */
const shownBy = (event: ConversationEvent<Marker>): NewMessage['shown'] => {
  const item = itemOf(event)
  const content = item && messageIn(item)?.content
  const { policy } = event.data
  return content && { content, ...(policy && { policy }) }
}

/** Returns the position of the first user message in the history `now` that is not in the earlier one; Infinity if there is none. */
export const firstMessageSince = (now: Effective, { items }: Effective): number => {
  const before = new Set(items.map(({ position }) => position))
  return now.items.find((item) => !before.has(item.position) && isSaid(item))?.position ?? Infinity
}

/** Reports whether an item contains words of the user, not only tool results. */
const isSaid = (item: Item): boolean => {
  const message = messageIn(item)
  return message !== undefined && isTurn(message)
}

const isResults = (item: Item | undefined): boolean =>
  item !== undefined &&
  messagesOf(item).length > 0 &&
  messagesOf(item).every(
    ({ role, content }) => role === 'user' && content.every(({ type }) => type === 'tool_result'),
  )
