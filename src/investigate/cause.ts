import type { ConversationEvent } from '../events/events.ts'
import { configurationOf, type Effective, type Item, itemOf, messageIn } from '../projections/effective.ts'
import type { Log } from '../projections/path.ts'
import { toolsOf } from '../projections/render/renderer.ts'
import { canonicalText } from './canonical.ts'
import { rewindsBetween } from './rewinds.ts'

/** Reason why the beginning of a request differs from the previous request. */
export type ChangeKind =
  | 'model'
  | 'tools'
  | 'tools-reordered'
  | 'system'
  | 'edit'
  | 'condense'
  | 'truncate'
  | 'restore'
  | 'rewind'
  | 'repair'

/** First difference between two requests, with the event that caused it. */
export interface RequestChange {
  readonly kind: ChangeKind
  /** Position of the event that caused the change; absent if it is unknown. */
  readonly event?: number
}

/**
 * Finds the first part of the later history that differs from the earlier one, in the order of the prompt cache: model, tools, system
 * prompt, messages. Returns undefined if the later history only appends.
 */
export const changeBetween = (log: Log, before: Effective, after: Effective): RequestChange | undefined =>
  promptChange(log, before, after) ?? itemChange(log, before, after)

const promptChange = (log: Log, before: Effective, after: Effective): RequestChange | undefined => {
  const [old, now] = [configurationOf(before), configurationOf(after)]
  const event = configuredBy(log, before, after)
  const changed = (kind: ChangeKind): RequestChange => ({ kind, ...(event !== undefined && { event }) })
  if (old.model !== now.model && old.model !== undefined) return changed('model')
  const [tools, others] = [toolsOf(before).tools ?? [], toolsOf(after).tools ?? []].map((all) =>
    all.map(canonicalText),
  ) as [string[], string[]]
  if (tools.join('\n') !== others.join('\n'))
    return changed(tools.toSorted().join('\n') === others.toSorted().join('\n') ? 'tools-reordered' : 'tools')
  if (canonicalText(old.system) !== canonicalText(now.system)) return changed('system')
  return undefined
}

/** Finds the event that changed the current configuration: a `Configured` event, or a rewind to a position before such an event. */
const configuredBy = (log: Log, { at }: Effective, { at: end, layout }: Effective): number | undefined =>
  layout.configured !== undefined && layout.configured > at
    ? layout.configured
    : rewindsBetween(log, at, end).ofConfiguration()

const itemChange = (log: Log, before: Effective, after: Effective): RequestChange | undefined => {
  const [olds, nows] = [before.layout.slots, after.layout.slots]
  const index = olds.findIndex(({ position }, at) => position !== nows[at]?.position)
  if (index < 0) return undefined
  const [old, now] = [olds[index], nows[index]]
  const marker = now?.marker && now.position > before.at ? log[now.position] : undefined
  const item = marker && itemOf(marker)
  if (item) return { kind: markerKind(item), event: item.position }
  const restored = eventsIn(log, before.at, after.at).findLast(
    (event) => event.type === 'Restored' && event.data.marker === old?.position,
  )
  if (restored) return { kind: 'restore', event: restored.position }
  const position = (old ?? now)?.position ?? -1
  const event = rewindsBetween(log, before.at, after.at).of(position)
  return { kind: 'rewind', ...(event !== undefined && { event }) }
}

/** Returns the kind of marker that created an item. The item must not be a message. */
export const markerKind = (item: Item): 'truncate' | 'edit' | 'condense' =>
  item.kind === 'truncation' ? 'truncate' : messageIn(item) ? 'edit' : 'condense'

/** Returns the events after position `after`, up to and including position `at`. Abandoned events are included. */
const eventsIn = (log: Log, after: number, at: number): readonly ConversationEvent[] =>
  log.slice(after + 1, at + 1)
