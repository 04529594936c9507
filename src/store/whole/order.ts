import * as E from 'fp-ts/lib/Either.js'
import { isStoreError } from '../blobs/restore.ts'
import { toError } from '../errors.ts'
import { completedBy, isMarked, isRecord, recordPrefix, type Stretch, unmarked } from './parts.ts'
import { type Checkpoint, type EventStore, type Followed, type RecordedEvent, streamPage } from '../port.ts'

/** A place among the events that an event made whole: after the one at `revision` of `stream`. */
interface Within {
  /** The checkpoint of the event that made them whole, its stream and its revision. */
  readonly checkpoint: Checkpoint
  readonly by: string
  readonly at: number
  readonly stream: string
  readonly revision: number
}

const checkpointOf = ({ checkpoint, by, at, stream, revision }: Within): Checkpoint =>
  JSON.stringify([checkpoint, by, at, stream, revision])

/** The place of a checkpoint, if it is one of these; all others are the store's own. */
const withinOf = (after: Checkpoint | undefined): Within | undefined => {
  if (typeof after !== 'string' || !after.startsWith('[')) return undefined
  try {
    const [checkpoint, by, at, stream, revision] = JSON.parse(after) as readonly unknown[]
    const isPlace =
      typeof checkpoint === 'string' &&
      typeof by === 'string' &&
      Number.isSafeInteger(at) &&
      typeof stream === 'string' &&
      Number.isSafeInteger(revision)
    return isPlace ? { checkpoint, by, at: Number(at), stream, revision: Number(revision) } : undefined
  } catch {
    return undefined
  }
}

/** Whether the event, as it is stored, is certainly in the order in which it was written. */
const isPlain = (event: RecordedEvent): boolean => !isMarked(event) && !isRecord(event.stream)

/**
 * The order of all events in which those of a write of several appends come when it is whole: one after the other, in place of the
 * event that made it whole. Among them a checkpoint names that event and the one that was read last.
 */
export const inWholeWrites = (store: EventStore): Pick<EventStore, 'readAll' | 'follow'> => {
  /** The events of a stretch, from a revision on. Iteration throws a `StoreError`. */
  async function* eventsOf({ stream, from, to }: Stretch): AsyncGenerator<RecordedEvent, void> {
    for (let next = from; next <= to;) {
      const limit = Math.min(streamPage, to + 1 - next)
      const page = await store.read({ stream, from: next, direction: 'forwards', limit })()
      if (E.isLeft(page)) throw toError(page.left)
      if (page.right.length === 0) return
      yield* page.right.map(unmarked)
      next += page.right.length
    }
  }

  /** What an event made whole, of streams with these prefixes, after a place in it. */
  async function* madeWhole(
    by: RecordedEvent,
    prefixes: readonly string[],
    after?: Within,
  ): AsyncGenerator<RecordedEvent, void> {
    // A mark that cannot be read says nothing.
    if (!by.part && !isRecord(by.stream)) return yield by
    const stretches = (completedBy(by) ?? []).filter(({ stream }) => begins(stream, prefixes))
    const reached = after ? stretches.findIndex(({ stream }) => stream === after.stream) : 0
    for (const [index, stretch] of stretches.entries()) {
      if (index < reached) continue
      const from = after && index === reached ? after.revision + 1 : stretch.from
      for await (const event of eventsOf({ ...stretch, from })) {
        const isLast = event.revision === stretch.to && index === stretches.length - 1
        const within = { ...event, checkpoint: by.checkpoint, by: by.stream, at: by.revision }
        yield { ...event, checkpoint: isLast ? by.checkpoint : checkpointOf(within) }
      }
    }
  }

  /** What comes after a place among events that were made whole at once. */
  async function* restOf(place: Within, prefixes: readonly string[]): AsyncGenerator<RecordedEvent, void> {
    const { by, at, checkpoint } = place
    const read = await store.read({ stream: by, from: at, direction: 'forwards', limit: 1 })()
    if (E.isLeft(read)) throw toError(read.left)
    const [event] = read.right
    if (event) yield* madeWhole({ ...unmarked(event), checkpoint }, prefixes, place)
  }

  const readAll: EventStore['readAll'] =
    ({ after, prefixes = [''], limit }) =>
    async () => {
      const place = withinOf(after)
      const events: RecordedEvent[] = []
      try {
        for await (const event of place ? restOf(place, prefixes) : []) {
          events.push(event)
          if (events.length === limit) return E.right({ events, checkpoint: event.checkpoint })
        }
        const from = place?.checkpoint ?? after
        if (events.length > 0) return E.right({ events, checkpoint: from })
        const page = await store.readAll({ after: from, prefixes: withRecords(prefixes), limit })()
        if (E.isLeft(page) || page.right.events.every(isPlain)) return page
        for (const recorded of page.right.events) {
          for await (const event of isPlain(recorded)
            ? [recorded]
            : madeWhole(unmarked(recorded), prefixes)) {
            events.push(event)
            if (events.length === limit) return E.right({ events, checkpoint: event.checkpoint })
          }
        }
        return E.right({ events, checkpoint: page.right.checkpoint })
      } catch (error) {
        if (isStoreError(error)) return E.left(error)
        throw error
      }
    }

  const follow: EventStore['follow'] = async function* ({ after, prefixes = [''], signal }) {
    const place = withinOf(after)
    const isOver = (): boolean => signal?.aborted === true
    for await (const event of place ? restOf(place, prefixes) : []) {
      if (isOver()) return
      yield { type: 'event', event, checkpoint: event.checkpoint }
    }
    const from = place?.checkpoint ?? after
    const options = { ...(from !== undefined && { after: from }), ...(signal && { signal }) }
    for await (const followed of store.follow({ ...options, prefixes: withRecords(prefixes) })) {
      if (followed.type === 'checkpoint' || isPlain(followed.event)) yield followed
      else {
        let last: Checkpoint | undefined
        for await (const event of madeWhole(unmarked(followed.event), prefixes)) {
          if (isOver()) return
          last = event.checkpoint
          yield { type: 'event', event, checkpoint: last } satisfies Followed
        }
        if (last !== followed.checkpoint) yield { type: 'checkpoint', checkpoint: followed.checkpoint }
      }
    }
  }

  return { readAll, follow }
}

const begins = (stream: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => stream.startsWith(prefix))

/** Records are in streams of their own, and tell also those who read only some streams. */
const withRecords = (prefixes: readonly string[]): readonly string[] =>
  begins(recordPrefix, prefixes) ? prefixes : [...prefixes, recordPrefix]
