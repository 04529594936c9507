import * as E from 'fp-ts/lib/Either.js'
import { type ConversationEvent, type Segment, START, type View } from '../events/events.ts'
import { freeze } from '../events/freeze.ts'
import { type Effective, type Item, itemOf } from '../projections/effective.ts'
import {
  type Draft,
  draftOf,
  emptyOutline,
  evolve,
  type Slot,
  toolsIn,
  viewIn,
} from '../projections/outline.ts'
import { sliceLength } from '../projections/slices.ts'
import { inBreaths } from '../store/breath.ts'
import type { StoreError } from '../store/errors.ts'
import { maxPage } from '../store/port.ts'
import type { Moment } from './moments.ts'
import { eventThere, type Reader, walkBack } from './reader.ts'

/** An effective history as loaded; `at` is the position that was asked for. */
export type Loaded = Moment

type Events = Map<number, ConversationEvent>

/**
 * Loads the effective history at a position by reading what it shows: backwards to the newest event with a view, then what that
 * view names, then forwards again over what was passed. Equal to folding the log from its start (a property test); the length of
 * the log does not matter.
 *
 * @param withConfiguration also reads the event that the configuration is in
 * @param momentAt what is remembered of a position: the walk ends there
 */
export const loadEffective = async (
  reading: Reader,
  at: number,
  withConfiguration = true,
  momentAt: (position: number) => Moment | undefined = () => undefined,
): Promise<E.Either<StoreError, Loaded>> => {
  const now = momentAt(at)
  if (now) return E.right(now)
  const passed: ConversationEvent[] = []
  let base: Moment | undefined
  let view: View | undefined
  // A restore without a view (of another program) needs what its marker hid: the walk continues to before that marker.
  let needed = Infinity
  const walked = await walkBack(reading, at, 0, (event) => {
    base = event.position < needed ? momentAt(event.position) : undefined
    if (base) return true
    view = event.position < needed ? viewIn(event) : undefined
    passed.push(event)
    if (event.type === 'Restored' && !view) needed = Math.min(needed, event.data.marker)
    return view !== undefined
  })
  if (E.isLeft(walked)) return walked
  const sinceView = passed.findIndex((event) => viewIn(event) !== undefined)
  if (view) passed.pop()
  const events: Events = new Map()
  const draft = view
    ? await draftFrom(reading, view, events, withConfiguration)
    : E.right(draftOf(base?.effective.outline ?? emptyOutline))
  if (E.isLeft(draft)) return draft
  const { replaced, ...seen } = await inBreaths(showing(draft.right, passed.toReversed(), events, base))
  return E.right({
    effective: { at, head: walked.right, ...seen },
    sinceView: sinceView < 0 ? passed.length + (base?.sinceView ?? 0) : sinceView,
    replaced,
  })
}

/** What is shown once the path's events have come to the draft, in slices. */
function* showing(
  draft: Draft,
  path: readonly ConversationEvent[],
  events: Events,
  base: Moment | undefined,
): Generator<void, Pick<Effective, 'items' | 'outline'> & Pick<Moment, 'replaced'>> {
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
  return { outline: draft, items, replaced }
}

/** The outline that a view stands for, its events added to `events`. */
const draftFrom = async (
  reading: Reader,
  view: View,
  events: Events,
  withConfiguration: boolean,
): Promise<E.Either<StoreError, Draft>> => {
  const { items, configured, promptSince, restored = [] } = view
  const [configuration, ...segments] = await Promise.all([
    withConfiguration ? readConfiguration(reading, view) : E.right({}),
    ...items.map((segment) => readSegment(reading, segment)),
  ])
  if (E.isLeft(configuration)) return configuration
  const slots: Slot[] = []
  for (const segment of segments) {
    if (E.isLeft(segment)) return segment
    for (const event of segment.right) {
      slots.push({ position: event.position, marker: event.type !== 'MessageAppended' })
      events.set(event.position, event)
    }
  }
  return E.right({
    slots,
    restored: [...restored],
    ...(configured !== undefined && { configured }),
    ...(promptSince !== undefined && { promptSince }),
    ...configuration.right,
  })
}

/** What is configured where a view is, and the last tools before it if it has no tools. */
const readConfiguration = async (
  reading: Reader,
  { configured, promptSince = START, toolsFrom }: View,
): Promise<E.Either<StoreError, Pick<Draft, 'configuration' | 'toolsFrom' | 'formerTools'>>> => {
  if (configured === undefined) return E.right({})
  const [now, former] = await Promise.all([
    eventThere(reading, configured),
    toolsFrom === undefined || toolsFrom === START ? E.right(undefined) : eventThere(reading, toolsFrom),
  ])
  if (E.isLeft(now)) return now
  if (E.isLeft(former)) return former
  if (now.right.type !== 'Configured') return E.right({})
  const configuration = freeze(now.right.data)
  if (toolsIn(configuration)) return E.right({ configuration })
  let found: ConversationEvent | undefined = former.right
  // A view of before there was the field.
  if (toolsFrom === undefined) {
    const walked = await walkBack(reading, promptSince - 1, 0, (event) => {
      const hasTools = event.type === 'Configured' && toolsIn(event.data) !== undefined
      if (hasTools) found = event
      return hasTools
    })
    if (E.isLeft(walked)) return walked
  }
  const formerTools = found?.type === 'Configured' ? toolsIn(freeze(found.data)) : undefined
  return E.right({
    configuration,
    toolsFrom: found && formerTools ? found.position : START,
    ...(formerTools && { formerTools }),
  })
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
