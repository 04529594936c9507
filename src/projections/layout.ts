import {
  type Configuration,
  type ConversationEvent,
  type Covers,
  type Event,
  type Metadata,
  type Segment,
  type Span,
  START,
  type View,
} from '../events/events.ts'
import { hasNoEffect, isMarkerOrRestore } from '../events/event-traits.ts'
import { freeze } from '../events/freeze.ts'
import { type Log, lastOf, pathInSlices } from './path.ts'
import { atOnce, sliceLength } from './slices.ts'

/** An item of the effective history without its content. */
export interface Slot {
  readonly position: number
  readonly marker: boolean
}

/**
 * The effective history without its content: the shown items, in order.
 *
 * 1. The positions of the messages in `slots` ascend; a marker takes the place of the items that it hides.
 * 2. `configured` is the position of the current `Configured` event, `configuration` its data.
 * 3. `promptSince` ≤ `configured`: system, tools and model have been the same since the event at `promptSince`.
 * 4. `toolsFrom` is set if the current configuration has no tools: the position of the last `Configured` event that had tools, which
 *    are `formerTools`; `START` if no `Configured` event had any.
 * 5. `configuredSalt` is the salt of the event at `configured`, `formerSalt` that of the event at `toolsFrom`; null if the content of the
 *    event was erased.
 * 6. The ranges in `restored` ascend and do not overlap.
 */
export interface HistoryLayout {
  readonly slots: readonly Slot[]
  readonly configured?: number
  readonly configuration?: Configuration
  readonly configuredSalt?: string | null | undefined
  readonly promptSince?: number
  readonly toolsFrom?: number
  readonly formerTools?: Tools
  readonly formerSalt?: string | null | undefined
  readonly restored: readonly Span[]
}
type Tools = NonNullable<Configuration['tools']>

export const emptyLayout: HistoryLayout = { slots: [], restored: [] }

/** A layout that `evolve` changes in place; `evolve` must be its only owner. */
export interface LayoutDraft {
  slots: Slot[]
  configured?: number
  configuration?: Configuration
  configuredSalt?: string | null | undefined
  promptSince?: number
  toolsFrom?: number
  formerTools?: Tools
  formerSalt?: string | null | undefined
  restored: Span[]
}

export const draftOf = (layout: HistoryLayout): LayoutDraft => ({
  ...layout,
  slots: [...layout.slots],
  restored: [...layout.restored],
})

/** An event of a path, with as much of its metadata as a layout needs. */
type PlacedEvent = Event & {
  readonly position: number
  readonly metadata?: Salted
}

type Salted = Pick<Partial<Metadata>, 'salt' | 'erased'>

/** Returns the salt of an event; null if its content was erased. */
export const saltOf = ({ salt, erased }: Salted = {}): string | null | undefined => (erased ? null : salt)

/** Function that returns the slots that a marker on the path replaced; undefined if there is no such marker. */
export type ReplacedSlotLookup = (marker: number) => readonly Slot[] | undefined

/**
 * Applies the next event of a path to a draft. Never fails: a marker whose slice is not shown, or a restore of a marker that is not
 * shown, changes nothing (`decide` never writes such events, `verify` reports them).
 *
 * @param replaced called only for restores
 * @returns the slots that a marker hid or a restore brought back; undefined if no slots were hidden or brought back
 */
export const evolve = (
  draft: LayoutDraft,
  event: PlacedEvent,
  replaced: ReplacedSlotLookup,
): readonly Slot[] | undefined => {
  if (hasNoEffect(event)) return undefined
  switch (event.type) {
    case 'MessageAppended':
      draft.slots.push({ position: event.position, marker: false })
      return undefined
    case 'Condensed':
    case 'Truncated':
      return hide(draft, event.position, event.data.covers)
    case 'Restored':
      return restore(draft, event.position, event.data.marker, replaced)
    case 'Configured':
      configure(draft, event.position, event.data, saltOf(event.metadata))
      return undefined
    // A path contains no `Rewound` events: it has already jumped to their targets.
    case 'Rewound':
      return undefined
  }
}

const indexOf = (slots: readonly Slot[], position: number): number =>
  slots.findLastIndex((slot) => slot.position === position)

const hide = (draft: LayoutDraft, marker: number, { first, last }: Covers): readonly Slot[] | undefined => {
  const from = indexOf(draft.slots, first)
  const to = indexOf(draft.slots, last)
  if (from < 0 || to < from) return undefined
  return draft.slots.splice(from, to - from + 1, { position: marker, marker: true })
}

const restore = (
  draft: LayoutDraft,
  at: number,
  marker: number,
  replaced: ReplacedSlotLookup,
): readonly Slot[] | undefined => {
  const index = indexOf(draft.slots, marker)
  const slots = draft.slots[index]?.marker === true ? replaced(marker) : undefined
  if (!slots) return undefined
  draft.slots = [...draft.slots.slice(0, index), ...slots, ...draft.slots.slice(index + 1)]
  draft.restored = addSpan(draft.restored, { after: marker, before: at })
  return slots
}

// Spans begin and end at markers and restores, never at messages, so joining spans does not change which messages they contain.
const addSpan = (spans: readonly Span[], span: Span): Span[] => {
  // Spans ascend, so the spans to join are the last ones.
  const first = spans.findLastIndex(({ before }) => before <= span.after) + 1
  const { after = span.after } = spans[first] ?? {}
  return spans.toSpliced(first, spans.length, { after: Math.min(after, span.after), before: span.before })
}

const configure = (
  draft: LayoutDraft,
  at: number,
  next: Configuration,
  salt: string | null | undefined,
): void => {
  const prompt = ({ system, tools, model }: Configuration): string => JSON.stringify([system, tools, model])
  if (draft.configuration === undefined || prompt(draft.configuration) !== prompt(next))
    draft.promptSince = at
  const former = toolsIn(draft.configuration)
  if (toolsIn(next)) {
    delete draft.toolsFrom
    delete draft.formerTools
    delete draft.formerSalt
  } else if (former && draft.configured !== undefined) {
    draft.toolsFrom = draft.configured
    draft.formerTools = former
    draft.formerSalt = draft.configuredSalt
  } else draft.toolsFrom ??= START
  draft.configured = at
  draft.configuration = freeze(next)
  draft.configuredSalt = salt
}

/** Returns the tools of a configuration; undefined if it has no tools. */
export const toolsIn = (configuration: Configuration | undefined): Tools | undefined =>
  configuration?.tools?.length ? configuration.tools : undefined

/** A layout folded from a whole path, with the slots that each marker on the path replaced. */
export interface Fold {
  readonly layout: HistoryLayout
  readonly replaced: ReadonlyMap<number, readonly Slot[]>
}

/**
 * Folds every event of the path at `at`, beginning with the first one. This is the reference that every other computation of a layout
 * must match.
 *
 * @param seen called with each event of the path and the slots that the event hid or brought back
 */
export const fold = (log: Log, at = lastOf(log), seen?: FoldObserver): Fold =>
  atOnce(foldInSlices(log, at, seen))

/** Function called with each event and the slots that the event hid or brought back. */
export type FoldObserver = (event: ConversationEvent, slots: readonly Slot[] | undefined) => void

/** Computes the same as `fold`, in slices of work. */
export function* foldInSlices(log: Log, at: number, seen?: FoldObserver): Generator<void, Fold> {
  const draft = draftOf(emptyLayout)
  const replaced = new Map<number, readonly Slot[]>()
  const replacedBy = (marker: number): readonly Slot[] | undefined => replaced.get(marker)
  let seenSoFar = 0
  for (const position of yield* pathInSlices(log, at)) {
    if (++seenSoFar % sliceLength === 0) yield
    const event = log[position]
    if (!event) continue
    const slots = evolve(draft, event, replacedBy)
    if (slots && event.type !== 'Restored') replaced.set(position, slots)
    seen?.(event, slots)
  }
  return { layout: draft, replaced }
}

/**
 * Maximum distance between the positions of two neighbouring messages in one range of a view. It keeps the cost of reading a range
 * proportional to the number of messages shown.
 */
export const maxGap = 32

/** Returns the view of a layout, that is, the table of contents that marker events carry. The same layout always has the same view. */
export const viewOf = ({ slots, configured, promptSince, toolsFrom, restored }: HistoryLayout): View => {
  const items: Segment[] = []
  let open: { first: number; last: number } | undefined
  for (const { position, marker } of slots) {
    if (marker) {
      items.push({ marker: position })
      open = undefined
    } else if (open && position - open.last <= maxGap) open.last = position
    else {
      open = { first: position, last: position }
      items.push(open)
    }
  }
  return {
    items,
    ...(configured !== undefined && { configured }),
    ...(promptSince !== undefined && { promptSince }),
    ...(toolsFrom !== undefined && { toolsFrom }),
    ...(restored.length > 0 && { restored }),
  }
}

/** Returns the view of an event, if it carries one. */
export const viewIn = (event: Event): View | undefined =>
  isMarkerOrRestore(event) ? event.data.view : undefined

/**
 * Reports whether a marker must carry its view. Omitting the view pays off only while the path has fewer events since the last view
 * than the new view would have segments.
 *
 * @param sinceView number of events on the path after the last one with a view, excluding this marker
 */
export const needsView = (view: View, sinceView: number): boolean => sinceView >= view.items.length
