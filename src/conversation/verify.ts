import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import { conversationNotFound } from '../commands/rejections.ts'
import { decode, hashOf } from '../events/codec.ts'
import { formHashOf, takeErased } from '../events/erased-form.ts'
import { hasNoEffect, isMarker, isMarkerOrRestore } from '../events/event-traits.ts'
import { type ConversationEvent, type Event, type EventData, START } from '../events/events.ts'
import { streamOf } from '../events/ids.ts'
import { type LayoutDraft, draftOf, type Slot, viewIn, viewOf } from '../projections/layout.ts'
import { branches } from './branches.ts'
import { pacer } from '../store/breath.ts'
import {
  type BlobDamaged,
  type BlobMissing,
  isOfEvent,
  type ReadError,
  type StoreError,
} from '../store/errors.ts'
import { brokenChain, type LogDiscrepancy, unreadableAt } from './discrepancy.ts'
import { slotsUnder } from './reading/gather.ts'
import { loadEffective } from './reading/load.ts'
import { loadLineage, type Lineage } from './reading/lineage.ts'
import { pagesOf } from '../store/pages.ts'
import { shortStreams } from '../store/short-streams.ts'
import type { EventStore, RecordedEvent, KeptEnd } from '../store/port.ts'
import { eventAt } from './reading/reader.ts'
import { lightReader } from './reading/light-reader.ts'
import { readRecordedAt } from './reading/reader.ts'
import { endOf, extentOf, readStreamEnd } from '../store/whole/whole-writes.ts'
import { type ErasedBeside, noErasure, notAsErased, streamsBeside, verifyBeside } from './verify-beside.ts'
import { verifyInherited } from './verify-inherited.ts'

export interface VerificationReport {
  readonly conversation: string
  /** Number of events in the conversation's own stream that passed verification. */
  readonly events: number
  /**
   * Number of these events without a salt, as 0.1.0 wrote them; absent if there are none. The hash of such an event confirms a guess of
   * its content, if the event is withheld.
   */
  readonly guessable?: number
  /** Number of events whose content was erased, in the conversation and beside it; absent if there are none. */
  readonly erased?: number
  /** Numbers of those beside the conversation; absent if there are none. */
  readonly erasedBeside?: ErasedBeside
  /** Number of the conversation's notes and links that passed verification; absent if it has none. */
  readonly notes?: number
  /** For a fork, the number of events that it inherited and that passed verification, and the conversation that it has them from. */
  readonly inherited?: { readonly events: number; readonly from: string }
  readonly discrepancy?: LogDiscrepancy
}

/**
 * Reads a conversation's own stream from its first event and recomputes every `prev` and every `view`, then verifies the conversation's
 * notes, turns and inbox. For a fork, it then recomputes the chain of the events that it inherited.
 *
 * Memory: one page of events, the layout of the effective history, and the slots that each marker hides. Every event is read once,
 * however often the conversation was rewound. Events of a fork's parents are read as far back as a marker's slice reaches, once for all
 * forks.
 *
 * @param inherited false if the parents of a fork are verified, too, so that only the event at the fork position is checked here
 */
export async function* verify(
  store: EventStore,
  conversation: string,
  inherited = true,
): Fallible<ReadError, VerificationReport> {
  let end: string | undefined
  for (let tries = 1; ; tries++) {
    const report = yield* verifyOnce(store, conversation, inherited)
    if (report.discrepancy?.kind !== 'erased') return report
    if (tries === mostTries) return yield* asOlderCopy(store, report)
    // What is erased meanwhile is gone before, or still there after, this reader comes to the event that says so.
    const stream = streamOf(report.discrepancy.inheritedFrom ?? conversation)
    const { last } = yield* readStreamEnd(store, stream)
    const now = `${last?.revision} ${stream}`
    if (now === end) return yield* asOlderCopy(store, report)
    end = now
  }
}

/** Returns a report on content without a record of its erasure: in an older copy of a sealed store, its key was destroyed later. */
async function* asOlderCopy(
  store: EventStore,
  report: VerificationReport,
): Fallible<ReadError, VerificationReport> {
  const { conversation, discrepancy } = report
  if (!store.keyDestroyed || !discrepancy?.message.endsWith(noErasure)) return report
  const { position, inheritedFrom } = discrepancy
  const lineage = (yield* unwrap(loadLineage(store, conversation))) ?? []
  const segment = lineage.find((one) => one.conversation === (inheritedFrom ?? conversation))
  const time = segment && (yield* unwrap(store.keyDestroyed(segment.stream, position - segment.offset)))
  if (time === undefined) return report
  const message = discrepancy.message.replace(noErasure, erasedLater(time))
  return { ...report, discrepancy: { ...discrepancy, kind: 'older', message } }
}

const erasedLater = (time: string): string =>
  `its content was erased on ${time}, after this copy of the store was made: its key was destroyed. To bring the record of the erasure, copy from the newest store (palimpsest copy)`

/** Maximum number of times that a conversation is verified while its content is being erased. */
const mostTries = 20

async function* verifyOnce(
  all: EventStore,
  conversation: string,
  withInherited: boolean,
): Fallible<ReadError, VerificationReport> {
  const stream = streamOf(conversation)
  const store = shortStreams(all, { own: stream, optional: streamsBeside(conversation) })
  const [lineage, extended] = await Promise.all([
    loadLineage(store, conversation),
    run(extentOf(store, stream)),
  ])
  if (
    E.isLeft(lineage) &&
    lineage.left._tag !== 'DecodeFailed' &&
    contentProblem(lineage.left)?.stream !== stream
  )
    return yield lineage.left
  const extent = yield* unwrap(extended)
  const { least, most: until } = extent
  const kept = yield* unwrap(store.keptEnd(stream))
  const checker = checkerOf(all, E.isRight(lineage) ? (lineage.right ?? []) : [], kept)
  const pace = pacer()
  let events = 0
  for await (const page of pagesOf(store, stream, { to: endOf(extent, kept) })) {
    if (E.isLeft(page)) {
      const bad = page.left
      if (!isOfEvent(bad)) return yield bad
      const position = checker.offset + events
      return { conversation, events, discrepancy: unreadableAt(position, bad) }
    }
    for (const stored of page.right) {
      const pause = pace(stored.data.length)
      if (pause) await pause
      const discrepancy = yield* checker.next(stored, events)
      if (discrepancy) return { conversation, events, discrepancy }
      events++
    }
  }
  const last = Math.max(least, Math.min(kept?.last ?? START, until))
  if (events === 0 && last < 0) return yield conversationNotFound(conversation)
  if (last < events) {
    const { guessable, erased, erasures, unexplained } = checker.end()
    if (unexplained !== undefined)
      return { conversation, events, discrepancy: { ...unexplained, kind: 'erased' } }
    const { erased: besides, ...beside } = yield* verifyBeside(store, conversation, erasures)
    const goneBeside = Object.values(besides).reduce((sum, count) => sum + count, 0)
    const gone = erased + goneBeside
    const [, ...parents] = E.isRight(lineage) ? (lineage.right ?? []) : []
    const [parent] = withInherited && !beside.discrepancy ? parents : []
    const discrepancy = parent && (yield* verifyInherited(all, parents))
    return {
      conversation,
      events,
      ...(guessable > 0 && { guessable }),
      ...(gone > 0 && { erased: gone }),
      ...(goneBeside > 0 && { erasedBeside: besides }),
      ...beside,
      ...(discrepancy
        ? { discrepancy }
        : parent && { inherited: { events: checker.offset, from: parent.conversation } }),
    }
  }
  const message = `the stream ends at revision ${events - 1}, but once had revision ${last}: its end was lost`
  return { conversation, events, discrepancy: { position: checker.offset + events, kind: 'end', message } }
}

type Found = Fallible<StoreError, LogDiscrepancy | undefined>

interface Checker {
  readonly offset: number
  readonly next: (stored: RecordedEvent, revision: number) => Found
  /** Returns what the whole stream shows. */
  readonly end: () => CheckedEnd
}

interface CheckedEnd {
  /** Number of events that have content, but no salt. */
  readonly guessable: number
  readonly erased: number
  readonly erasures: readonly EventData['Erased'][]
  /** First erased event that no event explains. */
  readonly unexplained: { readonly position: number; readonly message: string } | undefined
}

const checkerOf = (store: EventStore, lineage: Lineage, kept: KeptEnd | undefined): Checker => {
  const [own, parent] = lineage
  const offset = own?.offset ?? 0
  const reading = lightReader(store, lineage)
  let prev: string | null = null
  let guessable = 0
  let erased = 0
  /** Hashes of what is left of the erased events that no event has explained yet, by position. */
  const forms = new Map<number, string>()
  const erasures: EventData['Erased'][] = []
  /** True if a configuration was erased, so that it is not known whether it changed the prompt. */
  let isPromptUnknown = false

  const tree = branches({
    offset,
    layoutAt: async function* (position): Fallible<StoreError, LayoutDraft> {
      const { effective } = yield* loadEffective(reading, position)
      return draftOf(effective.layout)
    },
    // The marker may be one that is not shown; applying the restore checks that.
    replacedBy: async function* (marker): Fallible<StoreError, readonly Slot[] | undefined> {
      const event = yield* unwrap(eventAt(reading, marker))
      if (!event || !isMarker(event)) return undefined
      return yield* slotsUnder(reading, { position: marker, covers: event.data.covers })
    },
  })

  /** Checks the first event of a fork. It contains the hash that the parent's event at the fork position must have. */
  async function* begin({ data, position }: ConversationEvent<'Forked'>): Found {
    const { conversation, position: at, hash } = data.from
    const event = parent && (yield* unwrap(readRecordedAt(store, [parent], at)))
    prev = hash
    if (event && hashOf(event) === hash) return undefined
    const message = `forked from event ${at} of ${conversation}, which is missing or differs from the recorded hash`
    return { position, kind: 'chain', message }
  }

  async function* advance(event: ConversationEvent): Found {
    const { position, type } = event
    if (type === 'MessageAppended' || type === 'Rewound' || hasNoEffect(event)) {
      tree.pass(event)
      return undefined
    }
    const { slots, draft } = yield* tree.take(event)
    if (isMarkerOrRestore(event) && !slots)
      return { position, kind: 'marker', message: `the ${event.type} names items that were not shown` }
    return viewProblem(event, position, draft, isPromptUnknown)
  }

  async function* next(stored: RecordedEvent, revision: number): Found {
    const position = offset + revision
    const decoded = decode(stored, { stream: stored.stream, revision, position })
    if (E.isLeft(decoded)) return unreadableAt(position, decoded.left)
    const event = decoded.right
    const begun = event.type === 'Forked' ? yield* begin(event) : undefined
    if (begun) return begun
    if (stored.revision !== revision || event.metadata.prev !== prev)
      return {
        position,
        kind: 'chain',
        message: brokenChain,
      }
    prev = hashOf(stored)
    if (event.metadata.erased) {
      erased++
      forms.set(position, formHashOf(stored))
      isPromptUnknown ||= event.type === 'Configured'
    } else if (event.metadata.salt === undefined) guessable++
    if (event.type === 'Erased') {
      const { events: gone } = event.data
      const other = gone && takeErased(gone, forms)
      if (other !== undefined) return { position: other, kind: 'erased', message: notAsErased }
      erasures.push(event.data)
    }
    if (revision === kept?.last && prev !== kept.hash)
      return {
        position,
        kind: 'end',
        message: 'the event differs from the recorded end of the stream: it was changed',
      }
    return yield* advance(event)
  }
  const end = (): CheckedEnd => {
    const [position] = forms.keys()
    const unexplained = position === undefined ? undefined : { position, message: noErasure }
    return { guessable, erased, erasures, unexplained }
  }
  return { offset, next, end }
}

const contentProblem = (error: ReadError): BlobMissing | BlobDamaged | undefined =>
  error._tag === 'BlobMissing' || error._tag === 'BlobDamaged' ? error : undefined

const viewProblem = (
  event: Event,
  position: number,
  draft: LayoutDraft,
  isPromptUnknown: boolean,
): LogDiscrepancy | undefined => {
  const view = viewIn(event)
  if (!view) return undefined
  const { toolsFrom, ...now } = viewOf(draft)
  // Views older than this field are valid without it.
  const told = 'toolsFrom' in view && toolsFrom !== undefined ? { ...now, toolsFrom } : now
  const { promptSince } = view
  const wanted = isPromptUnknown && promptSince !== undefined ? { ...told, promptSince } : told
  if (isDeepStrictEqual(view, wanted)) return undefined
  return {
    position,
    kind: 'view',
    message: `the view in the ${event.type} differs from the effective history at this position`,
  }
}
