import * as E from 'fp-ts/lib/Either.js'
import { type ConversationEvent, type Segment, START, type View } from '../../events/events.ts'
import { freeze } from '../../events/freeze.ts'
import { type Effective, type Item, itemOf } from '../../projections/effective.ts'
import {
  type LayoutDraft,
  draftOf,
  emptyLayout,
  evolve,
  saltOf,
  type Slot,
  toolsIn,
  viewIn,
} from '../../projections/layout.ts'
import { sliceLength } from '../../projections/slices.ts'
import { inBreaths } from '../../store/breath.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { maxPage } from '../../store/port.ts'
import type { HistoryState } from './moments.ts'
import { eventThere, type Reader, walkBack } from './reader.ts'

/** An effective history as loaded; its `effective.at` is the requested position. */
export type LoadedHistory = HistoryState

type Events = Map<number, ConversationEvent>

/**
 * Loads the effective history at a position by reading only the events that it shows: first backwards to the newest event with a view,
 * then the events named in that view. The events after the view are then applied in order. The result equals folding the log from its
 * start (a property test checks this). The time taken does not depend on the length of the log.
 *
 * @param withConfiguration true to also read the event that contains the configuration
 * @param momentAt returns the remembered history at a position; reading stops at a position for which it returns a history
 */
export async function* loadEffective(
  reading: Reader,
  at: number,
  withConfiguration = true,
  momentAt: (position: number) => HistoryState | undefined = () => undefined,
): Fallible<StoreError, LoadedHistory> {
  const now = momentAt(at)
  if (now) return now
  const passed: ConversationEvent[] = []
  let base: HistoryState | undefined
  let view: View | undefined
  // A restore without a view (written by another program) needs the items that its marker hid, so the walk continues past that marker.
  let needed = Infinity
  let isErased = false
  const walked = walkBack(reading, at, 0, (event) => {
    // A history remembered from before an erasure has content that is gone.
    isErased ||= event.type === 'Erased'
    base = event.position < needed && !isErased ? momentAt(event.position) : undefined
    if (base) return true
    view = event.position < needed ? viewIn(event) : undefined
    passed.push(event)
    if (event.type === 'Restored' && !view) needed = Math.min(needed, event.data.marker)
    return view !== undefined
  })
  const head = yield* unwrap(walked)
  const sinceView = passed.findIndex((event) => viewIn(event) !== undefined)
  if (view) passed.pop()
  const events: Events = new Map()
  const draft = view
    ? yield* draftFrom(reading, view, events, withConfiguration)
    : draftOf(base?.effective.layout ?? emptyLayout)
  const { replaced, ...seen } = await inBreaths(showing(draft, passed.toReversed(), events, base))
  return {
    effective: { at, head, ...seen },
    sinceView: sinceView < 0 ? passed.length + (base?.sinceView ?? 0) : sinceView,
    replaced,
  }
}

/** Applies the events of the path to the draft, in slices, and returns the resulting layout and items. */
function* showing(
  draft: LayoutDraft,
  path: readonly ConversationEvent[],
  events: Events,
  base: HistoryState | undefined,
): Generator<void, Pick<Effective, 'items' | 'layout'> & Pick<HistoryState, 'replaced'>> {
  const replaced = new Map(base?.replaced)
  const before = new Map(base?.effective.items.map((item) => [item.position, item]))
  for (const [index, event] of path.entries()) {
    if ((index + 1) % sliceLength === 0) yield
    events.set(event.position, event)
    const slots = evolve(draft, event, (marker) => replaced.get(marker))
    if (slots && event.type !== 'Restored') replaced.set(event.position, slots)
  }
  const items: Item[] = []
  for (const [index, { position }] of draft.slots.entries()) {
    if ((index + 1) % sliceLength === 0) yield
    const event = events.get(position)
    const item = event ? itemOf(event) : before.get(position)
    if (item) items.push(item)
  }
  return { layout: draft, items, replaced }
}

/** Builds the layout that a view describes, and adds its events to `events`. */
async function* draftFrom(
  reading: Reader,
  view: View,
  events: Events,
  withConfiguration: boolean,
): Fallible<StoreError, LayoutDraft> {
  const { items, configured, promptSince, restored = [] } = view
  const [configuration, ...segments] = await Promise.all([
    withConfiguration ? run(readConfiguration(reading, view)) : E.right({}),
    ...items.map((segment) => readSegment(reading, segment)),
  ])
  const prompt = yield* unwrap(configuration)
  const slots: Slot[] = []
  for (const segment of segments) {
    // Checked without `unwrap`, because there may be hundreds of segments.
    if (E.isLeft(segment)) return yield segment.left
    for (const event of segment.right) {
      slots.push({ position: event.position, marker: event.type !== 'MessageAppended' })
      events.set(event.position, event)
    }
  }
  return {
    slots,
    restored: [...restored],
    ...(configured !== undefined && { configured }),
    ...(promptSince !== undefined && { promptSince }),
    ...prompt,
  }
}

/** Reads the configuration in effect at a view. If it sets no tools, also reads the last tools before it. */
async function* readConfiguration(
  reading: Reader,
  { configured, promptSince = START, toolsFrom }: View,
): Fallible<StoreError, Partial<LayoutDraft>> {
  if (configured === undefined) return {}
  const [now, former] = await Promise.all([
    eventThere(reading, configured),
    toolsFrom === undefined || toolsFrom === START ? E.right(undefined) : eventThere(reading, toolsFrom),
  ])
  const named = yield* unwrap(now)
  let found: ConversationEvent | undefined = yield* unwrap(former)
  if (named.type !== 'Configured') return {}
  const configuration = freeze(named.data)
  const current = { configuration, configuredSalt: saltOf(named.metadata) }
  if (toolsIn(configuration)) return current
  // The view is older than this field.
  if (toolsFrom === undefined) {
    const walked = walkBack(reading, promptSince - 1, 0, (event) => {
      const hasTools = event.type === 'Configured' && toolsIn(event.data) !== undefined
      if (hasTools) found = event
      return hasTools
    })
    yield* unwrap(walked)
  }
  const formerTools = found?.type === 'Configured' ? toolsIn(freeze(found.data)) : undefined
  return {
    ...current,
    toolsFrom: found && formerTools ? found.position : START,
    ...(formerTools && { formerTools, formerSalt: saltOf(found?.metadata) }),
  }
}

const readSegment = async (
  reading: Reader,
  segment: Segment,
): Promise<E.Either<StoreError, readonly ConversationEvent[]>> => {
  const messages: ConversationEvent[] = []
  if ('marker' in segment) {
    const marker = await eventThere(reading, segment.marker)
    return E.map((event: ConversationEvent) => [event])(marker)
  }
  const { first, last } = segment
  const collect = (event: ConversationEvent): boolean => {
    if (event.type === 'MessageAppended') messages.push(event)
    return false
  }
  const walked = await walkBack(reading, last, first, collect, Math.min(last - first + 1, maxPage))
  return E.map(() => messages.toReversed())(walked)
}
