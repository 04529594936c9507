import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound, type OutOfRange, outOfRange } from '../../commands/rejections.ts'
import type { StoredEvent } from '../../events/codec.ts'
import { erasedEventsOf, erasedForm, formHashOf } from '../../events/erased-form.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor, Covers, EventData } from '../../events/events.ts'
import { type ContentKind, contentKinds, contentStreams, notesStreamOf, streamOf } from '../../events/ids.ts'
import { canHaveStub, erasedStub } from '../../events/withheld.ts'
import { erasedData } from '../../events/without-content.ts'
import { toolCalls } from '../../projections/pairs.ts'
import { orThrow, catchTyped, run, unwrap, type Fallible } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { pacer } from '../../store/breath.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { conflict, type ReadError, type StoreError } from '../../store/errors.ts'
import { eventsAt, keyOfPlace, lastRevision, pagesOf } from '../../store/pages.ts'
import {
  type Checkpoint,
  type EventReplacement,
  type EventStore,
  maxReplaced,
  type RecordedEvent,
} from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'
import { contentsAt, removeContents } from '../../store/whole/erased-contents.ts'
import { coveringText, createHoldFinder, type HoldFinder } from '../beside/hold-finder.ts'
import { holdKind, readHold } from '../beside/hold.ts'
import { inboxOf } from '../beside/inbox.ts'
import { lastPosition, readChainEnd } from '../reading/ends.ts'
import { loadEffective } from '../reading/load.ts'
import { reader } from '../reading/reader.ts'
import { completeEnvelope, encodeChain } from './encode.ts'

/** Selection of the content to erase from a conversation, and the reason. */
export interface EraseOptions {
  /**
   * Positions of the conversation's own events to erase, with their queued copies and the records of their calls. Default: all events,
   * notes, records of turns and queued messages.
   */
  readonly positions?: readonly number[] | undefined
  /** Notes and links to erase, by their index in the conversation's notes. Default: none if `positions` are given, else all. */
  readonly notes?: readonly number[] | undefined
  /** Time before which the content must have been recorded. Default: no limit. */
  readonly before?: Date | undefined
  /** The person who has the content erased. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
  /**
   * True to erase once more what the conversation's own `Erased` events record, where its content is there again after somebody restored
   * it. `positions`, `notes` and `before` are then ignored. Default false.
   */
  readonly again?: boolean | undefined
  /**
   * True to erase the conversations of its subagents, and of theirs, too, each as a whole (with `before`, what is older). All are checked
   * before the first is erased. Not with `positions` or `notes`. Default false.
   */
  readonly withSubagents?: boolean | undefined
  /** True to count what would be erased, and to write nothing. Default false. */
  readonly dryRun?: boolean | undefined
}

/** Content that was erased, or would be in a dry run. */
export interface ErasedContent {
  readonly conversation: string
  /** Positions of the events erased, ascending. */
  readonly positions: readonly number[]
  /** Numbers of events erased in the streams beside the conversation. */
  readonly notes: number
  readonly turns: number
  readonly inbox: number
  /** Number of parts erased of the archived file from which the conversation was imported. */
  readonly archive: number
  /** Number of contents stored outside events that were removed, because no event refers to them any more. */
  readonly contents: number
  /**
   * Number of contents that stay for now, although no event refers to them any more, because they were stored less than a minute ago
   * (an hour, if this erasure does not know them) and may belong to an event that is being written: `gc` removes them.
   */
  readonly recent: number
  /**
   * Size of the store's file, in bytes, if it was rewritten first: 0.1.0 did not overwrite what it removed, so the unused parts of a file
   * that it wrote may have old copies of content. Absent if this was not necessary.
   */
  readonly rewritten?: number
}

/**
 * The content cannot be erased now, or not in this store; the message says why and what to do. Nothing was erased, or only a part if a
 * legal hold began meanwhile.
 */
export interface CannotErase {
  readonly _tag: 'CannotErase'
  readonly message: string
  readonly conversation: string
}
export type EraseError = ReadError | InvalidInput | EventTooLarge | OutOfRange | CannotErase

/** An event to erase, with its form without content. */
interface Erasable extends EventReplacement {
  readonly kind: ContentKind
  /** Position of the event, or its revision in a stream beside the conversation. */
  readonly at: number
  readonly contents: readonly string[]
}

/**
 * Erases content of a conversation: replaces the stored events by their forms without content, together with an `Erased` event that says
 * which, who and why. If it is interrupted, what is left is erased when it is repeated.
 *
 * @param events the store that reads events whole
 * @param adapter the store beneath it, in which large content is apart
 * @param scrub removes what was erased from everywhere in the store; default: the adapter's own
 * @param holds finds the legal holds; work on many conversations shares one finder, because it reads the notes of the store
 */
export async function* erase(
  {
    events,
    adapter,
    actor,
    scrub = adapter.scrub,
    holds = createHoldFinder(events),
  }: {
    readonly events: EventStore
    readonly adapter: EventStore
    readonly actor: Actor
    readonly scrub?: EventStore['scrub']
    readonly holds?: HoldFinder
  },
  conversation: string,
  options: EraseOptions,
): Fallible<EraseError, ErasedContent> {
  if (!scrub)
    return yield cannotErase(
      conversation,
      `${events.url} cannot overwrite events. Copy its conversations to a store whose content is encrypted (?seal=keys/), or to an SQLite store`,
    )
  yield* checkNotHeld(events, holds, conversation)
  const time = new Date().toISOString()
  const { by, reason, dryRun = false } = options
  const erased = { positions: [] as number[], notes: 0, turns: 0, inbox: 0, archive: 0 }
  const contents = new Set<string>()
  let isBegun = false
  // Read before the checks: what others write from now on may be a waiting call or message, and is not what was asked to be erased.
  const ends = new Map<ContentKind, number>()
  for (const kind of contentKinds)
    ends.set(kind, (yield* readStreamEnd(events, contentStreams[kind](conversation))).last?.revision ?? -1)
  const offset = yield* checkAtRest(events, actor, conversation, options, (ends.get('turns') ?? -1) >= 0)
  const choice = options.again
    ? yield* catchTyped<StoreError, Choice>(() => recordedChoice(events, conversation, offset))
    : newChoice(options, offset, time)
  const size = adapter.rewrite && (yield* unwrap(adapter.rewrite({ dryRun })))
  const rewritten = size === undefined ? {} : { rewritten: size }
  const formOf = dryRun ? countedForm : erasedForm
  const found = erasables({ events, adapter, formOf }, conversation, offset, ends, choice)
  for (;;) {
    const part = yield* catchTyped<StoreError, readonly Erasable[]>(() => upTo(maxReplaced, found))
    if (part.length === 0) break
    const writing = despiteConflicts(async function* (): Fallible<EraseError, readonly Erasable[]> {
      const seen = yield* lastRevision(events, streamOf(conversation))
      const left = dryRun ? part : yield* wholeAmong(events, part)
      // Read before the holds, so that a hold that begins from here on, on a fork too, is a conflict.
      const notes = yield* lastRevision(events, notesStreamOf(conversation))
      const { checkpoint } = yield* unwrap(events.changed(notesStreamOf(''), undefined))
      // The first position is the one that most forks show.
      const shown = part.find(({ kind }) => kind === 'events')?.at
      const cover = yield* holds.holding(conversation, shown)
      if (cover) return yield cannotErase(conversation, coveringText(cover, shown), isBegun)
      if (dryRun) return part
      yield* checkNotHeld(events, holds, conversation, isBegun)
      const read = { seen, notes, checkpoint }
      if (left.length > 0)
        yield* record(events, actor, conversation, left, { ...options, by, reason, time, ...read })
      return left
    })
    const written = await run(writing)
    if (E.isLeft(written)) {
      // What is erased must not be legible in the log until somebody repeats the command.
      if (isBegun) await scrub()()
      return yield written.left
    }
    isBegun = true
    for (const { kind, at, contents: own } of written.right) {
      if (kind === 'events') erased.positions.push(at)
      else erased[kind]++
      for (const sha256 of own) contents.add(sha256)
    }
  }
  if (dryRun) return { conversation, ...erased, contents: contents.size, recent: 0, ...rewritten }
  const removed = yield* removeContents(adapter, contents)
  yield* unwrap(scrub())
  return { conversation, ...erased, ...removed, ...rewritten }
}

/** Returns the time of a conversation's first content that was recorded before a time and is not erased; undefined if there is none. */
export async function* firstOlder(
  { events }: { readonly events: EventStore },
  conversation: string,
  before: Date,
): Fallible<StoreError, string | undefined> {
  const limit = before.toISOString()
  const pace = pacer()
  // True for what an erasure that was interrupted left of an archive.
  let isRest = false
  for (const kind of contentKinds)
    for await (const page of pagesOf(events, contentStreams[kind](conversation)))
      for (const stored of yield* unwrap(page)) {
        const time = timeIn(stored.metadata)
        isRest ||= kind === 'archive' && erasedStub(stored.metadata) !== undefined
        if ((time < limit || isRest) && hasContent(stored)) return time
        const pause = pace(stored.data.length)
        if (pause) await pause
      }
  return undefined
}

const cannotErase = (conversation: string, problem: string, isBegun = false): CannotErase => ({
  _tag: 'CannotErase',
  message: `${isBegun ? 'only a part' : 'nothing'} of conversation ${conversation} was erased: ${problem}`,
  conversation,
})

async function* checkNotHeld(
  store: EventStore,
  holds: HoldFinder,
  conversation: string,
  isBegun = false,
): Fallible<StoreError | CannotErase, void> {
  const own = yield* readHold(store, conversation)
  const cover = own ? { conversation, hold: own, steps: [] } : yield* holds.holding(conversation)
  if (cover) yield cannotErase(conversation, coveringText(cover), isBegun)
}

/**
 * Returns the position of the conversation's first own event. Fails if positions are not its own, or if a turn still needs the content.
 *
 * @param hasTurns false if no turn has ever answered the conversation, so that nothing will run a call that an import, for example, has
 * left without a result
 */
async function* checkAtRest(
  store: EventStore,
  actor: Actor,
  conversation: string,
  { positions }: EraseOptions,
  hasTurns: boolean,
): Fallible<EraseError, number> {
  const end = yield* readChainEnd(store, conversation)
  if (end.revision < 0) return yield conversationNotFound(conversation)
  const last = lastPosition(end)
  const { offset = 0 } = end.lineage[0] ?? {}
  for (const position of positions ?? []) {
    if (position < 0 || position > last) return yield outOfRange(conversation, position, last)
    if (position >= offset) continue
    const origin = end.lineage.find((segment) => segment.offset <= position)?.conversation
    return yield cannotErase(
      conversation,
      `event ${position} belongs to ${origin}, from which it was forked: erase it there`,
    )
  }
  if (offset > 0 && positions?.includes(offset))
    return yield cannotErase(conversation, `event ${offset} records the fork and has no content`)
  const { effective } = yield* loadEffective(reader(store, end.lineage), last)
  const open = toolCalls(effective).find(
    ({ use, result }) => result === undefined && use >= offset && (positions?.includes(use) ?? true),
  )
  if (open && hasTurns)
    return yield cannotErase(
      conversation,
      `call ${open.id} of event ${open.use} has no result yet: let a turn answer it, or rewind to before it`,
    )
  const [queued] = yield* inboxOf(store, actor, conversation).pending()
  if (queued && !positions)
    return yield cannotErase(conversation, 'messages wait in its inbox: let a turn take them first')
  return offset
}

/** Returns the time of an event's erasure, in ISO 8601; undefined if the event is not to be erased. */
type Choice = (kind: ContentKind, at: number, stored: RecordedEvent) => string | undefined

/** Chooses events by the options, to be erased at a time. The events of the conversation must be chosen first. */
const newChoice = ({ positions, notes, before }: EraseOptions, offset: number, time: string): Choice => {
  const wanted = positions && new Set(positions)
  const wantedNotes = notes && new Set(notes)
  const limit = before?.toISOString()
  const commands = new Set<unknown>()
  let isAny = false
  const isChosen = (kind: ContentKind, at: number, { data, metadata }: RecordedEvent): boolean => {
    // The file has the text of every event.
    if (kind === 'archive') return isAny || !wanted
    if (kind === 'notes') return wantedNotes ? wantedNotes.has(at) : !wanted
    if (!wanted) return true
    if (kind === 'turns') return wanted.has(replyIn(data))
    // A queued message is appended under the id of the command that queued it.
    if (kind === 'inbox') return commands.has(commandIn(metadata))
    if (wanted.has(at)) commands.add(commandIn(metadata))
    return wanted.has(at)
  }
  return (kind, at, stored) => {
    // What is in the file is older than the import.
    const isOld = limit === undefined || timeIn(stored.metadata) < limit || (kind === 'archive' && isAny)
    if (!isOld || !isChosen(kind, at, stored)) return undefined
    isAny = true
    return time
  }
}

/** Chooses the events that the conversation records as erased, each with the time of its erasure. */
const recordedChoice = async (store: EventStore, conversation: string, offset: number): Promise<Choice> => {
  const erasures: { readonly time: string; readonly data: EventData['Erased'] }[] = []
  for await (const page of pagesOf(store, streamOf(conversation)))
    for (const { type, data, metadata } of await orThrow(page))
      if (type === 'Erased')
        erasures.push({ time: timeIn(metadata), data: JSON.parse(data) as EventData['Erased'] })
  return (kind, at) => {
    if (kind === 'events' && at < offset) return undefined
    const isIn = ({ first, last }: Covers): boolean => first <= at && at <= last
    return erasures.find(({ data }) => data[kind]?.ranges.some(isIn))?.time
  }
}

interface ErasableSource {
  readonly events: EventStore
  readonly adapter: EventStore
  /** Returns the form of an event without content; undefined if the event cannot be erased. */
  readonly formOf: typeof erasedForm
}

/** Stands for the form of an event that is only counted, because computing the form takes longest. */
const countedForm: typeof erasedForm = (stored) =>
  canHaveStub(stored) ? { ...stored, data: '', metadata: '' } : undefined

/**
 * Yields everything to erase up to the ends of the streams, stream by stream, with the archive after the first event. Throws a `StoreError`, or `CannotErase` for an event of
 * another program.
 */
async function* erasables(
  { events, adapter, formOf }: ErasableSource,
  conversation: string,
  offset: number,
  ends: ReadonlyMap<ContentKind, number>,
  timeFor: Choice,
): AsyncGenerator<Erasable, void> {
  const found = async function* (kind: ContentKind): AsyncGenerator<Erasable, void> {
    const stream = contentStreams[kind](conversation)
    const first = kind === 'events' ? offset : 0
    for await (const page of pagesOf(events, stream, { to: ends.get(kind) ?? -1 })) {
      const chosen: Omit<Erasable, 'contents'>[] = []
      for (const stored of await orThrow(page)) {
        const { revision } = stored
        const at = first + revision
        const time = timeFor(kind, at, stored)
        if (time === undefined || !hasContent(stored)) continue
        const event = formOf(stored, time)
        if (!event)
          throw toError(
            cannotErase(
              conversation,
              `${kind} ${at}: another program wrote it, so its hash cannot be proved later`,
            ),
          )
        chosen.push({ kind, at, stream, revision, event })
      }
      const contents = await contentsAt(adapter, chosen)
      for (const one of chosen) yield { ...one, contents: contents.get(keyOfPlace(one)) ?? [] }
    }
  }
  let isFirst = true
  for (const kind of contentKinds.filter((each) => each !== 'archive'))
    for await (const one of found(kind)) {
      yield one
      // In the same append as the first event, so that an erasure that is interrupted does not leave the file.
      if (isFirst) yield* found('archive')
      isFirst = false
    }
  if (isFirst) yield* found('archive')
}

interface Read {
  readonly commandId: string
  readonly time: string
}
const commandIn = (metadata: string): string => (JSON.parse(metadata) as Read).commandId
const timeIn = (metadata: string): string => (JSON.parse(metadata) as Read).time
const replyIn = (data: string): number => Number((JSON.parse(data) as { readonly reply?: unknown }).reply)

/** Reports whether an event has content that is not erased yet. The reason of an erasure stays, as long as nobody names its position. */
const hasContent = ({ type, data, metadata }: StoredEvent): boolean => {
  if (type === 'Forked' || type === 'Erased' || erasedStub(metadata) !== undefined) return false
  const given: unknown = JSON.parse(data)
  // Who held a conversation, and why, is not the content that somebody asks to erase.
  if (type === 'Noted' && Reflect.get(Object(given), 'kind') === holdKind) return false
  return !isDeepStrictEqual(erasedData(type, given), given)
}

const upTo = async <A>(most: number, items: AsyncGenerator<A, void>): Promise<readonly A[]> => {
  const taken: A[] = []
  while (taken.length < most) {
    const { value, done } = await items.next()
    if (done === true) break
    taken.push(value)
  }
  return taken
}

/** Returns the events that still have their content: another program may have erased the others. */
async function* wholeAmong(
  store: EventStore,
  part: readonly Erasable[],
): Fallible<StoreError, readonly Erasable[]> {
  const whole = new Set<string>()
  for await (const page of eventsAt(store, part))
    for (const stored of yield* unwrap(page))
      if (erasedStub(stored.metadata) === undefined) whole.add(keyOfPlace(stored))
  return part.filter((one) => whole.has(keyOfPlace(one)))
}

interface RecordOptions extends Omit<EraseOptions, 'notes'> {
  readonly time: string
  /** Last revision of the conversation before it was read that the events still have their content. */
  readonly seen: number
  /** Last revision of the conversation's notes, in which nobody held it. */
  readonly notes: number
  /** Last checkpoint of the store before the holds were read; undefined if the store does not tell. */
  readonly checkpoint: Checkpoint | undefined
}

/** Replaces events by their forms without content, and appends the event that says so. */
async function* record(
  store: EventStore,
  actor: Actor,
  conversation: string,
  erased: readonly Erasable[],
  { by, reason, again, time, seen, notes, checkpoint }: RecordOptions,
): Fallible<EraseError, void> {
  const end = yield* readChainEnd(store, conversation)
  for await (const page of pagesOf(store, streamOf(conversation), { from: seen + 1, to: end.revision }))
    // Another erasure may have erased the same events since then.
    if ((yield* unwrap(page)).some(({ type }) => type === 'Erased'))
      return yield conflict(streamOf(conversation), seen, end.revision)
  const data: { -readonly [K in keyof EventData['Erased']]: EventData['Erased'][K] } = {}
  // What is erased again is recorded already.
  for (const [kind, of] of again ? [] : Map.groupBy(erased, (one) => one.kind))
    data[kind] = erasedEventsOf(new Map(of.map(({ at, event }) => [at, formHashOf(event)])))
  if (by !== undefined) data.by = by
  if (reason !== undefined) data.reason = reason
  // What is left of the events has the same time, so that it can be made once more.
  const envelope = completeEnvelope({ now: new Date(time) }, actor)
  const chain = yield* unwrap(encodeChain(conversation, end.hash, [{ type: 'Erased', data }], envelope))
  yield* unwrap(
    store.append({
      stream: streamOf(conversation),
      events: chain.events,
      expected: end.revision,
      unchanged: [{ stream: notesStreamOf(conversation), expected: notes }],
      ...(checkpoint !== undefined && { unwritten: { prefix: notesStreamOf(''), since: checkpoint } }),
      replaces: erased.map(({ stream, revision, event }) => ({ stream, revision, event })),
    }),
  )
}
