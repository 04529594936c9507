import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../../events/codec.ts'
import { type EventForm, provableForm } from '../../events/erased-form.ts'
import { type EventTooLarge, type InvalidInput, invalidInput } from '../../events/errors.ts'
import { conversationOf } from '../../events/ids.ts'
import { run, unwrap, type Fallible } from '../../result/fallible.ts'
import { cutLiterals } from '../blobs/cut.ts'
import { withLargeContent } from '../blobs/large-content.ts'
import { type InlineLimits, maxEventBytes, planOutside } from '../blobs/plan.ts'
import { checkAppend } from '../check-append.ts'
import type { StoreError } from '../errors.ts'
import { isCut, isMarked, markStart } from '../marks.ts'
import { eventsAt, keyOfPlace } from '../pages.ts'
import type { AppendOutcome, AppendRequest, EventStore, EventReplacement, WritePart } from '../port.ts'
import { checkBeginning } from '../seal/check-beginning.ts'
import { canBeMarked, markEvents, partOf, removeMark, withMark } from './parts.ts'
import { withWholeWrites } from './whole-writes.ts'

type AppendError = StoreError | EventTooLarge | InvalidInput

/** An event store with the layers for large content and for writes of several appends. */
export interface LayeredStore extends EventStore {
  /** Checks, without accessing the store, whether the event can be appended on its own. */
  readonly check: (event: StoredEvent) => E.Either<EventTooLarge | InvalidInput, unknown>
  /** The store beneath the layers, in which large content is apart. */
  readonly adapter: EventStore
}

/**
 * Returns a store that adds two layers to an adapter. Strings above the threshold are kept outside events, deduplicated; the events
 * returned are always whole, and texts and hashes refer to the whole events, so a conversation does not depend on the threshold. A write
 * of several appends (`AppendRequest.part`) counts only once it is complete.
 *
 * @param threshold maximum bytes of a string (UTF-8, including escapes) that stays in its event
 */
export const layeredStore = (adapter: EventStore, threshold: number): LayeredStore => {
  const limits: InlineLimits = { threshold, append: adapter.maxAppendBytes }
  const { beginnings } = adapter
  const underWay = new Set<Promise<unknown>>()
  const { read } = withLargeContent(adapter)
  let mayBegin = adapter.isSealed === true

  /** Gives the events that replace others the marks that the others have. */
  async function* withMarksOfReplaced(
    replaces: readonly EventReplacement[],
  ): Fallible<StoreError, readonly EventReplacement[]> {
    const parts = new Map<string, WritePart>()
    for await (const page of eventsAt({ read }, replaces))
      for (const before of yield* unwrap(page)) {
        const { part } = removeMark(before)
        if (part) parts.set(keyOfPlace(before), part)
      }
    return replaces.map((replacement) => {
      const part = parts.get(keyOfPlace(replacement))
      return part ? { ...replacement, event: withMark(replacement.event, part) } : replacement
    })
  }

  /**
   * Appends events, writing their blobs first: an interrupted append may leave an unreferenced blob, but never a reference without its
   * blob.
   */
  async function* appendCut(request: AppendRequest): Fallible<AppendError, AppendOutcome> {
    const planned = yield* unwrap(planOutside(request.events, limits))
    const events: StoredEvent[] = []
    for (const [index, whole] of request.events.entries()) {
      const literals = planned[index] ?? []
      const { event, contents } =
        literals.length > 0 ? cutLiterals(whole, literals) : { event: whole, contents: [] }
      for (const { sha256, chunks } of contents) yield* unwrap(adapter.blobs.put(sha256, chunks))
      events.push(event)
    }
    const { replaces } = request
    return yield* unwrap(
      adapter.append({
        ...request,
        events,
        ...(replaces && { replaces: yield* withMarksOfReplaced(replaces) }),
      }),
    )
  }

  const tracked = <A>(appending: Promise<A>): Promise<A> => {
    const finished = appending.finally(() => underWay.delete(finished))
    underWay.add(finished)
    return finished
  }

  /** Appends events that may need a mark, or blobs. */
  const appendPrepared = (request: AppendRequest): Promise<E.Either<AppendError, AppendOutcome>> => {
    const marked = withMarks(request)
    if (E.isLeft(marked)) return Promise.resolve(marked)
    const { events } = marked.right
    const isPlain = areSmall(events, limits) && !events.some(isCut) && !request.replaces
    const forms = adapter.isSealed ? { forms: formsOf(request) } : {}
    if (isPlain) return adapter.append({ ...marked.right, ...forms })()
    const checked = checkAppend(marked.right)
    return E.isLeft(checked)
      ? Promise.resolve(checked)
      : tracked(run(appendCut({ ...checked.right, ...forms })))
  }

  const append = (request: AppendRequest): Promise<E.Either<AppendError, AppendOutcome>> => {
    const { events, part, replaces } = request
    const isPlain = !part && !replaces && areSmall(events, limits) && !events.some(hasMark)
    // The adapter checks and copies the request.
    return isPlain ? adapter.append(request)() : appendPrepared(request)
  }

  /** Appends the first events of a conversation. Nothing is stored before the check, large content included. */
  async function* begin(request: AppendRequest): Fallible<AppendError, AppendOutcome> {
    mayBegin = yield* checkBeginning(adapter, request.stream)
    return yield* unwrap(append(request))
  }

  return {
    ...withWholeWrites(withLargeContent(adapter)),
    adapter,
    // Streams with marked events are read one by one.
    ...(beginnings && {
      beginnings: (streams, limit) =>
        pipe(
          beginnings(streams, limit),
          TE.map((begun) => new Map([...begun].filter(([, events]) => !events.some(hasMark)))),
        ),
    }),
    check: (event) => {
      if (areSmall([event], limits) && !hasMark(event)) return E.right(undefined)
      return isMarked(event) ? E.left(reserved) : planOutside([event], limits)
    },
    append: (request) => () =>
      request.expected === -1 && !mayBegin && conversationOf(request.stream) !== undefined
        ? tracked(run(begin(request)))
        : append(request),
    close: () => async () => {
      await Promise.allSettled(underWay)
      return adapter.close()()
    },
  }
}

const reserved = invalidInput('metadata.$part', 'is reserved for writes that consist of several appends')
const unmarkable = invalidInput(
  'metadata',
  'must be a JSON object if the event is part of a write of several appends',
)

/** Marks the events of an append that is part of a write of several. */
const withMarks = (request: AppendRequest): E.Either<InvalidInput, AppendRequest> => {
  const { events, part } = request
  if (!Array.isArray(events)) return E.right(request)
  if (events.some(isMarked)) return E.left(reserved)
  if (!part) return E.right(request)
  return events.every(canBeMarked)
    ? E.right({ ...request, events: markEvents(events, part) })
    : E.left(unmarkable)
}

/** Returns what is left of the events without their content, with the marks that the events get. */
const formsOf = ({ events, part }: AppendRequest): readonly (EventForm | undefined)[] =>
  Array.from(events, (event, index) => {
    const form = provableForm(event)
    return form && part ? withMark(form, partOf(part, index, events.length)) : form
  })

/** Reports whether the layers may have marked an event, or the event may look as if they had. */
const hasMark = ({ metadata }: StoredEvent): boolean => metadata.startsWith(markStart)

/** Reports whether no event is so large that content must be moved outside. False if the value is not a list of events. */
const areSmall = (events: readonly StoredEvent[], { threshold, append }: InlineLimits): boolean => {
  if (!Array.isArray(events)) return false
  const most = Math.min(threshold, maxEventBytes)
  let length = 0
  for (const event of events as readonly (Partial<StoredEvent> | null)[]) {
    const { data, metadata } = event ?? {}
    if (typeof data !== 'string' || typeof metadata !== 'string') return false
    const own = data.length + metadata.length
    // A string's UTF-8 is at most three times its length.
    if (own * 3 > most) return false
    length += own
  }
  return length * 3 <= append
}
