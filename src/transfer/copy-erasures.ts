import * as E from 'fp-ts/lib/Either.js'
import type { HoldFinder } from '../conversation/beside/hold-finder.ts'
import { readHold } from '../conversation/beside/hold.ts'
import { originOf } from '../conversation/reading/lineage.ts'
import { decode, hashOf } from '../events/codec.ts'
import { formHashOf, takeErased } from '../events/erased-form.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { ErasedEvents } from '../events/event-types.ts'
import type { EventData } from '../events/events.ts'
import { contentKinds, contentStreams, notesStreamOf, streamOf } from '../events/ids.ts'
import { erasedStub } from '../events/withheld.ts'
import { catchTyped, unwrap, type Fallible } from '../result/fallible.ts'
import { despiteConflicts } from '../store/conflicts.ts'
import type { StoreError } from '../store/errors.ts'
import { eventsAt, keyOfPlace, lastRevision, pagesOf } from '../store/pages.ts'
import {
  type AppendRequest,
  type EventReplacement,
  type EventStore,
  maxReplaced,
  type RecordedEvent,
} from '../store/port.ts'
import { contentsAt } from '../store/whole/erased-contents.ts'

// An erasure in the source, repeated in the target: the same events get the same forms, so that the record of the source holds there, too.

type ErasureCopyError = StoreError | EventTooLarge | InvalidInput

/** Stores of a copy, and what it does about erasures. */
export interface ErasureCopy {
  readonly from: EventStore
  readonly to: EventStore
  /** The target beneath its layers, in which large content is apart. */
  readonly adapter: EventStore
  /** Finds the legal holds of the target. */
  readonly holds: HoldFinder
  /** Called before events are replaced in the target; waits until the index is ready for that. */
  readonly erasing: () => Promise<void>
  /** Called after events were replaced, with them and the hashes of the contents that they had outside them. */
  readonly erased: (events: readonly EventReplacement[], contents: Iterable<string>) => void
}

/** Events to replace in the target, together with an append, and the contents that they have outside them. */
export type AppendReplacement = Required<Pick<AppendRequest, 'replaces' | 'unchanged'>> &
  Pick<AppendRequest, 'unwritten'> & { readonly contents: readonly string[] }

type Contents = Awaited<ReturnType<typeof contentsAt>>

/**
 * Returns what to replace in the target, so that it lacks what these `Erased` events of the source record: at most 1,000 events, of
 * the first of them. Returns undefined if there is nothing to replace, or if the target cannot, or if a legal hold in it covers any of
 * them.
 */
export async function* replacingFor(
  copy: ErasureCopy,
  id: string,
  erasures: readonly RecordedEvent[],
): Fallible<ErasureCopyError, AppendReplacement | undefined> {
  const { to, adapter } = copy
  if (!to.scrub || erasures.length === 0) return undefined
  const notes = notesStreamOf(id)
  // Read before the holds, so that a hold that begins from here on, on a fork too, is a conflict.
  const expected = yield* lastRevision(to, notes)
  const { checkpoint } = yield* unwrap(to.changed(notesStreamOf(''), undefined))
  if (yield* readHold(to, id)) return undefined
  const offset = yield* offsetOf(copy.from, id)
  const found: EventReplacement[] = []
  for (const erasure of erasures) {
    found.push(...(yield* wholeIn(copy, id, offset, erasure)))
    if (found.length >= maxReplaced) break
  }
  if (found.length === 0) return undefined
  const replaces = found.slice(0, maxReplaced).toSorted(byPlace)
  // The first position is the one that most forks show.
  const shown = replaces.find(({ stream }) => stream === streamOf(id))
  if (yield* copy.holds.holding(id, shown && offset + shown.revision)) return undefined
  const of = yield* catchTyped<StoreError, Contents>(() => contentsAt(adapter, replaces))
  const contents = [...of.values()].flat()
  return {
    replaces,
    contents,
    unchanged: [{ stream: notes, expected }],
    ...(checkpoint !== undefined && { unwritten: { prefix: notesStreamOf(''), since: checkpoint } }),
  }
}

/** Returns the position of a conversation's first own event. */
async function* offsetOf(from: EventStore, id: string): Fallible<ErasureCopyError, number> {
  const [begin] = yield* unwrap(from.read({ stream: streamOf(id), from: 0, direction: 'forwards', limit: 1 }))
  const origin = begin && (yield* unwrap(originOf(begin)))
  return origin ? origin.position + 1 : 0
}

const byPlace = (one: EventReplacement, other: EventReplacement): number =>
  one.stream === other.stream ? one.revision - other.revision : one.stream < other.stream ? -1 : 1

/** Returns the forms of the events that an `Erased` event of the source records and that the target still has whole. */
async function* wholeIn(
  { from, to }: ErasureCopy,
  id: string,
  offset: number,
  erasure: RecordedEvent,
): Fallible<ErasureCopyError, readonly EventReplacement[]> {
  const stream = streamOf(id)
  const { revision } = erasure
  const decoded = decode(erasure, { stream, revision, position: offset + revision })
  // The verification of the copy reports any problem with the event.
  if (E.isLeft(decoded) || decoded.right.type !== 'Erased') return []
  const data: EventData['Erased'] = decoded.right.data
  const whole: EventReplacement[] = []
  for (const kind of contentKinds) {
    const recorded = data[kind]
    if (!recorded) continue
    const first = kind === 'events' ? offset : 0
    const forms = yield* formsIn(from, contentStreams[kind](id), first, recorded)
    for await (const page of eventsAt(to, [...forms.values()]))
      for (const stored of yield* unwrap(page)) {
        const form = forms.get(keyOfPlace(stored))
        const isWhole = erasedStub(stored.metadata) === undefined
        if (form && isWhole && hashOf(stored) === hashOf(form.event)) whole.push(form)
      }
  }
  return whole
}

/**
 * Returns the forms of the events that a record of the source names, by `keyOfPlace`; none unless they are as the record says, because
 * content in the target would be lost for nothing.
 */
async function* formsIn(
  from: EventStore,
  stream: string,
  first: number,
  recorded: ErasedEvents,
): Fallible<ErasureCopyError, ReadonlyMap<string, EventReplacement>> {
  const forms = new Map<string, EventReplacement>()
  const hashes = new Map<number, string>()
  for (const range of recorded.ranges)
    for await (const page of pagesOf(from, stream, { from: range.first - first, to: range.last - first }))
      for (const { revision, id, type, data, metadata } of yield* unwrap(page)) {
        if (erasedStub(metadata) === undefined) continue
        const event = { id, type, data, metadata }
        forms.set(keyOfPlace({ stream, revision }), { stream, revision, event })
        hashes.set(first + revision, formHashOf(event))
      }
  return takeErased(recorded, hashes) === undefined ? forms : new Map()
}

/**
 * Erases in the target what `Erased` events that are already there record, up to a revision of the conversation: an earlier copy may
 * have brought them without it. They are appended again, which writes nothing, with the events to replace.
 */
export async function* repeatErasures(
  copy: ErasureCopy,
  id: string,
  last: number,
): Fallible<ErasureCopyError, void> {
  const stream = streamOf(id)
  for await (const page of pagesOf(copy.from, stream, { to: last }))
    for (const { type, ...rest } of yield* unwrap(page))
      if (type === 'Erased') yield* despiteConflicts(() => repeatOne(copy, id, { type, ...rest }))
}

async function* repeatOne(
  copy: ErasureCopy,
  id: string,
  erasure: RecordedEvent,
): Fallible<ErasureCopyError, void> {
  const replacing = yield* replacingFor(copy, id, [erasure])
  if (!replacing) return
  const { stream, revision, id: eventId, type, data, metadata } = erasure
  const events = [{ id: eventId, type, data, metadata }]
  yield* appendErasing(copy, { stream, events, expected: revision - 1, repeat: 'each' }, replacing)
}

/** Appends events, together with the replacement of others if there are any. Returns the outcome of the append. */
export async function* appendErasing(
  { to, adapter, erasing, erased }: ErasureCopy,
  request: AppendRequest,
  replacing: AppendReplacement | undefined,
): Fallible<ErasureCopyError, 'written' | 'repeated' | 'taken'> {
  if (!replacing) return yield* unwrap(to.append(request))
  const { contents, ...more } = replacing
  if (adapter.rewrite) yield* unwrap(adapter.rewrite({ dryRun: false }))
  await erasing()
  const outcome = yield* unwrap(to.append({ ...request, ...more }))
  erased(more.replaces, contents)
  return outcome
}
