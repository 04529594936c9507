import { randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { provableForm } from '../../events/erased-form.ts'
import { type EventTooLarge, type InvalidInput, invalidInput } from '../../events/errors.ts'
import { streamOf } from '../../events/ids.ts'
import { rangesOf } from '../../events/ranges.ts'
import { erasedStub, erasedTime } from '../../events/withheld.ts'
import { hashOf } from '../../events/codec.ts'
import { type Fallible, orThrow, run, task, unwrap } from '../../result/fallible.ts'
import { isTyped } from '../../result/typed-error.ts'
import { checkAppend } from '../check-append.ts'
import { conflict, isOfEvent, noKeyOpens, type StoreError } from '../errors.ts'
import { isSealedEvent } from '../marks.ts'
import { endsStream, lastRevision, pagesOf } from '../pages.ts'
import {
  type AllPage,
  type AppendOutcome,
  type AppendRequest,
  type EventReplacement,
  type EventStore,
  type FollowItem,
  type FollowOptions,
  type KeptEnd,
  largePage,
  type RecordedEvent,
  type StreamRange,
} from '../port.ts'
import type { KeyStore } from './key-store.ts'
import {
  createConversationKeys,
  type KeyErasure,
  type PlannedErasure,
  type SealedStream,
  sealedStreamOf,
  type StreamKeys,
} from './conversation-keys.ts'
import { sealedBlobs } from './sealed-blobs.ts'
import { erasedEvent, openedEvent, sealedEvent } from './sealed-event.ts'
import { createStoreSecret } from './store-secret.ts'

/** Bytes of a sealed event for each byte of the event: twice in base64 at most, with what stays readable. */
const growth = 3.5
/** Number of opened events that are remembered, and the maximum length of one. */
const mostRecent = 2_000
const mostKept = 8 * 1024

/**
 * Returns a store that encrypts the content of conversations before the store beneath it gets it. What an erased event shows stays
 * readable: ids, times, roles, names of tools and models, hashes. The content of events is erased by destroying their keys, also in a
 * store that cannot replace events. Events that were stored before stay as they are. Fails with `StoreDenied` if the store was sealed
 * with other keys.
 */
export async function* sealStore(inner: EventStore, keys: KeyStore): Fallible<StoreError, EventStore> {
  const secret = createStoreSecret(inner, keys)
  const ring = createConversationKeys(keys, async (id, { revision: from, event }) => {
    const found = await orThrow(inner.read({ stream: streamOf(id), from, direction: 'forwards', limit: 1 }))
    return found[0]?.id === event
  })

  /** Events that were opened lately, because decrypting an event takes longer than reading it. */
  const recent = new Map<
    string,
    { readonly sealed: string; readonly data: string; readonly metadata: string }
  >()

  /** Runs work with keys. What the key store throws becomes `StoreUnavailable`. */
  async function* withKeys<A>(work: () => Promise<A>): Fallible<StoreError, A> {
    try {
      return await work()
    } catch (cause) {
      return yield isTyped(cause) ? (cause as Error & StoreError) : keysFailed(inner.url, keys.name, cause)
    }
  }

  /** Opens sealed events with keys that are remembered; undefined if others are needed. */
  const openedAtOnce = (events: readonly RecordedEvent[]): readonly RecordedEvent[] | undefined => {
    if (!events.some(isSealedEvent)) return events
    if (!secret.isKnown() || events.some(isErasure)) return undefined
    const all: RecordedEvent[] = []
    for (const event of events) {
      const of = isSealedEvent(event) ? sealedStreamOf(event.stream) : undefined
      const open = of ? openWith(event, ring.recent(of)) : event
      if (!open) return undefined
      all.push(open)
    }
    return all
  }

  /** Opens the sealed events among those given, in their order. */
  async function* opened(events: readonly RecordedEvent[]): Fallible<StoreError, readonly RecordedEvent[]> {
    const atOnce = openedAtOnce(events)
    if (atOnce) return atOnce
    yield* withKeys(secret.find)
    // Another process may have destroyed keys that are remembered here.
    for (const { stream } of events.filter(isErasure)) ring.forget(sealedStreamOf(stream)?.id ?? '')
    if (events.some(isErasure)) recent.clear()
    const all: RecordedEvent[] = []
    for (const event of events) {
      const of = isSealedEvent(event) ? sealedStreamOf(event.stream) : undefined
      const own = of && (ring.recent(of) ?? (yield* withKeys(() => ring.read(of))))
      const open = of ? openWith(event, own) : event
      all.push(open ?? (yield cannotOpen(keys.name, event)))
    }
    return all
  }

  /** Returns an event as it was appended, or erased if its key was destroyed; undefined if it can be neither. */
  const openWith = (event: RecordedEvent, own: StreamKeys | undefined): RecordedEvent | undefined => {
    const { id, revision, data } = event
    if (!own?.has(revision)) {
      const time = own?.erasedAt(revision)
      return time === undefined ? undefined : erasedEvent(event, time)
    }
    const kept = recent.get(id)
    if (kept?.sealed === data) return { ...event, data: kept.data, metadata: kept.metadata }
    const key = own.keyOf(revision)
    const open = key && openedEvent(event, key)
    if (open && data.length <= mostKept) {
      if (recent.size >= mostRecent) recent.clear()
      recent.set(id, { sealed: data, data: open.data, metadata: open.metadata })
    }
    return open
  }

  /** Reads a page whose first part, as it is stored, may have been read. */
  async function* read(
    { stream, from: start, direction, limit: most }: StreamRange,
    first: readonly RecordedEvent[],
  ): Fallible<StoreError, readonly RecordedEvent[]> {
    const all: RecordedEvent[] = []
    let length = 0
    let page = first
    for (
      let from = start, limit = most;
      ;
      page = yield* unwrap(inner.read({ stream, from, direction, limit }))
    ) {
      for (const event of yield* opened(page)) {
        all.push(event)
        length += event.data.length
      }
      // A page is short also because its events are large when they are sealed.
      if (endsStream(page, limit) || length > largePage) return all
      limit -= page.length
      from = (page.at(-1)?.revision ?? -1) + (direction === 'forwards' ? 1 : -1)
      if (from < 0 || limit === 0) return all
    }
  }

  /** Returns an append with its events sealed. */
  const sealedAppend = (
    { events, replaces = [], unchanged, unwritten, ...rest }: AppendRequest,
    forms: AppendRequest['forms'] = [],
    own: StreamKeys,
  ): AppendRequest => ({
    ...rest,
    events: events.map((event, index) => {
      // What was erased, when and why is said without keys, too. A copied event may be erased already.
      if (event.type === 'Erased' || erasedStub(event.metadata) !== undefined) return event
      // Where a key was destroyed, there is an event (see `keysFor`), so the append writes nothing.
      const key = own.keyOf(rest.expected + 1 + index) ?? randomBytes(32)
      return sealedEvent(event, forms[index] ?? provableForm(event), key)
    }),
    // Only a store that can replace events knows the two.
    ...(inner.scrub && {
      ...(replaces.length > 0 && { replaces }),
      ...(unchanged && { unchanged }),
      ...(unwritten && { unwritten }),
    }),
  })

  const isErasedAtAnotherTime = ({ stream, revision, event }: EventReplacement): boolean => {
    const of = sealedStreamOf(stream)
    const own = of && ring.recent(of)
    return own !== undefined && !own.has(revision) && own.erasedAt(revision) !== erasedTime(event.metadata)
  }

  /** Returns the keys for the events of an append. */
  async function* keysFor(request: AppendRequest, of: SealedStream): Fallible<StoreError, StreamKeys> {
    const { stream, expected } = request
    const own = ring.recent(of) ?? (yield* withKeys(() => ring.create(of)))
    if (hasKeys(own, request)) return own
    // An older copy of the store was restored, which does not have the events whose keys were destroyed.
    const range: StreamRange = { stream, from: expected + 1, direction: 'forwards', limit: 1 }
    const [event] = yield* unwrap(inner.read(range))
    return event ? own : yield* withKeys(() => ring.renew(of, expected + 1))
  }

  async function* append(
    request: AppendRequest,
    forms: AppendRequest['forms'],
    of: SealedStream,
  ): Fallible<AppendError, AppendOutcome> {
    yield* withKeys(secret.create)
    const sealed = sealedAppend(request, forms, yield* keysFor(request, of))
    const { stream, events, expected, replaces = [] } = request
    if (!inner.scrub) {
      yield* checkSealed(inner, replaces)
      yield* checkUnchanged(inner, request)
    }
    const erasures = erasuresOf(replaces)
    const own = erasures.get(of.id)
    if (own) {
      const planned = { ...own, revision: expected + 1, event: events[0]?.id ?? '' }
      erasures.set(of.id, planned)
      yield* withKeys(() => ring.plan(of.id, planned))
      // The record of an erasure must not contradict the record of a former one. Keys that were remembered may have hidden that one.
      if (!inner.scrub && replaces.some(isErasedAtAnotherTime))
        return yield conflict(stream, expected, expected)
    }
    const outcome = yield* unwrap(inner.append(sealed))
    for (const [id, erasure] of erasures) yield* withKeys(() => ring.destroy(id, erasure))
    if (erasures.size > 0) recent.clear()
    return outcome
  }

  async function* follow(options: FollowOptions): AsyncGenerator<FollowItem, void> {
    for await (const item of inner.follow(options))
      if (item.type === 'checkpoint' || !isSealedEvent(item.event)) yield item
      else for (const event of await orThrow(task(() => opened([item.event])))) yield { ...item, event }
  }

  async function* keptEnd(stream: string): Fallible<StoreError, KeptEnd | undefined> {
    const kept = yield* unwrap(inner.keptEnd(stream))
    if (!kept) return undefined
    const [event] = yield* unwrap(inner.read({ stream, from: kept.last, direction: 'forwards', limit: 1 }))
    if (!event || !isSealedEvent(event) || hashOf(event) !== kept.hash) return kept
    const open = await run(opened([event]))
    // The recorded end is known even if the key is missing.
    if (E.isLeft(open)) return isOfEvent(open.left) ? kept : yield open.left
    return { last: kept.last, hash: hashOf(open.right[0] ?? event) }
  }

  yield* withKeys(secret.find)
  const { beginnings } = inner
  return {
    ...inner,
    isSealed: true,
    maxAppendBytes: Math.floor(inner.maxAppendBytes / growth),
    append: (request) => async () => {
      const of = sealedStreamOf(Object(request).stream)
      if (!of) return inner.append(request)()
      const checked = checkAppend(request)
      if (E.isLeft(checked)) return checked
      const { forms, replaces } = request
      const own = secret.isKnown() && !replaces ? ring.recent(of) : undefined
      return own && hasKeys(own, checked.right)
        ? inner.append(sealedAppend(checked.right, forms, own))()
        : run(append(checked.right, forms, of))
    },
    read: (range) => async () => {
      const page = await inner.read(range)()
      if (E.isLeft(page)) return page
      const all = endsStream(page.right, range.limit) ? openedAtOnce(page.right) : undefined
      return all ? E.right(all) : run(read(range, page.right))
    },
    readAll: (range) =>
      task(async function* (): Fallible<StoreError | InvalidInput, AllPage> {
        const page = yield* unwrap(inner.readAll(range))
        const open = await run(opened(page.events))
        return { ...page, events: E.isRight(open) ? open.right : yield placed(open.left, page.events) }
      }),
    follow,
    keptEnd: (stream) => task(() => keptEnd(stream)),
    ...(beginnings && {
      beginnings: (streams, limit) =>
        task(async function* (): Fallible<StoreError, ReadonlyMap<string, readonly RecordedEvent[]>> {
          const begun = yield* unwrap(beginnings(streams, limit))
          const all = new Map<string, readonly RecordedEvent[]>()
          // Conversations whose keys are missing are left out, so that the others can be listed.
          for (const [stream, events] of begun) {
            const open = await run(opened(events))
            if (E.isRight(open)) all.set(stream, open.right)
            else if (!isOfEvent(open.left)) return yield open.left
          }
          return all
        }),
    }),
    keyDestroyed: (stream, revision) =>
      task(async function* (): Fallible<StoreError, string | undefined> {
        const range: StreamRange = { stream, from: revision, direction: 'forwards', limit: 1 }
        const [event] = yield* unwrap(inner.read(range))
        const of = event && isSealedEvent(event) ? sealedStreamOf(stream) : undefined
        const own = of && (yield* withKeys(() => ring.read(of)))
        return own && !own.has(revision) ? own.erasedAt(revision) : undefined
      }),
    blobs: sealedBlobs(inner.blobs, { secret, keys, withKeys }),
    scrub: () =>
      task(async function* (): Fallible<StoreError, void> {
        if (inner.scrub) yield* unwrap(inner.scrub())
        yield* withKeys(async () => keys.scrub?.())
      }),
    close: () => async () => {
      const closed = await inner.close()()
      await keys.close()
      return closed
    },
  }
}

type AppendError = StoreError | EventTooLarge | InvalidInput

const hasKeys = (own: StreamKeys, { events, expected }: AppendRequest): boolean =>
  events.every((_, index) => own.has(expected + 1 + index))

/** Reports whether an event records an erasure. */
const isErasure = ({ type }: RecordedEvent): boolean => type === 'Erased'

/** Returns the keys to destroy for the events that are replaced, by conversation. */
const erasuresOf = (replaces: readonly EventReplacement[]): Map<string, KeyErasure | PlannedErasure> => {
  const erasures = new Map<string, KeyErasure | PlannedErasure>()
  for (const [stream, of] of Map.groupBy(replaces, (one) => one.stream)) {
    const { id, prefix } = sealedStreamOf(stream) ?? {}
    if (id === undefined || prefix === undefined) continue
    // Events that are erased again were erased at several times.
    const ranges = [...Map.groupBy(of, ({ event }) => erasedTime(event.metadata))].flatMap(([time, some]) =>
      time === undefined
        ? []
        : rangesOf(some.map(({ revision }) => revision)).map((one) => ({ ...one, time })),
    )
    erasures.set(id, { ranges: new Map([...(erasures.get(id)?.ranges ?? []), [prefix, ranges]]) })
  }
  return erasures
}

/** Fails if one of the streams that must not have changed, or been written, has. A writer that is quicker than the append is not noticed. */
async function* checkUnchanged(
  inner: EventStore,
  { stream: own, expected: last, unchanged = [], unwritten }: AppendRequest,
): Fallible<StoreError, void> {
  for (const { stream, expected } of unchanged) {
    const actual = yield* lastRevision(inner, stream)
    if (actual !== expected) return yield conflict(stream, expected, actual)
  }
  if (!unwritten) return
  const { streams } = yield* unwrap(inner.changed(unwritten.prefix, unwritten.since))
  if (streams?.size !== 0) return yield conflict(own, last, last)
}

/** Fails if one of the events to erase was stored in the open, in a store that cannot replace events. */
async function* checkSealed(
  inner: EventStore,
  replaces: readonly EventReplacement[],
): Fallible<StoreError | InvalidInput, void> {
  for (const [stream, of] of Map.groupBy(replaces, (one) => one.stream)) {
    const wanted = new Set(of.map(({ revision }) => revision))
    const [from, to] = [Math.min(...wanted), Math.max(...wanted)]
    for await (const page of pagesOf(inner, stream, { from, to })) {
      const open = (yield* unwrap(page)).find((event) => wanted.has(event.revision) && !isSealedEvent(event))
      if (open) return yield storedInTheOpen(inner.url, open)
    }
  }
}

const storedInTheOpen = (store: string, { stream, revision }: RecordedEvent): InvalidInput =>
  invalidInput(
    'replaces',
    `event ${revision} of stream ${stream} cannot be erased: it was stored in the open, and ${store} cannot overwrite events. Copy the conversations to another store with keys, and delete this one`,
  )

const keysFailed = (store: string, name: string, cause: unknown): StoreError => ({
  _tag: 'StoreUnavailable',
  message: `the keys of ${store} in ${name} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
  store,
  cause,
})

/** Adds the checkpoint of an event to the error that its key is missing. */
const placed = (error: StoreError, page: readonly RecordedEvent[]): StoreError =>
  error._tag === 'DecodeFailed'
    ? {
        ...error,
        checkpoint: page.find(
          ({ stream, revision }) => stream === error.stream && revision === error.revision,
        )?.checkpoint,
      }
    : error

const cannotOpen = (name: string, { stream, revision, type }: RecordedEvent): StoreError => ({
  _tag: 'DecodeFailed',
  message: `event ${revision} of stream ${stream} (${type}) cannot be read: its content is sealed, and ${name} ${noKeyOpens}; restore the newest copy of the keys`,
  stream,
  revision,
  isKeyMissing: true,
})
