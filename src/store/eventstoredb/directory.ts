import * as E from 'fp-ts/lib/Either.js'
import type { StoreError } from '../errors.ts'
import { type EventStore, maxPage } from '../port.ts'
import { isOfServer, type Place } from './messages.ts'
import type { Reads } from './reads.ts'

interface Entry {
  /** How many events the stream has. */
  events: number
  /** The revisions of those that are no messages, by type. */
  readonly others: Map<string, number[]>
}

const everything = { on: 'stream', prefixes: [''] } as const

/**
 * Which streams there are, and how many events of each type: the database keeps neither. Read off `$all` once, then only what is
 * new in it.
 */
export const directory = (reads: Reads): Pick<EventStore, 'streams' | 'count'> => {
  const entries = new Map<string, Entry>()
  let reached: Place | undefined
  let refreshing: Promise<unknown> = Promise.resolve()

  const readNewer = async (): Promise<E.Either<StoreError, void>> => {
    for (;;) {
      const page = await reads.all(everything, reached, maxPage)
      if (E.isLeft(page)) return page
      for (const event of page.right) {
        const { stream, type, revision } = event
        reached = event.place
        if (isOfServer(event)) continue
        const entry = entries.get(stream) ?? { events: 0, others: new Map<string, number[]>() }
        entry.events = revision + 1
        if (type !== 'MessageAppended') {
          const revisions = entry.others.get(type)
          if (revisions) revisions.push(revision)
          else entry.others.set(type, [revision])
        }
        entries.set(stream, entry)
      }
      if (page.right.length === 0) return E.right(undefined)
    }
  }
  /** One after the other: two at once would both count what is new. */
  const refresh = (): Promise<E.Either<StoreError, void>> => {
    const own = refreshing.then(readNewer)
    refreshing = own
    return own
  }

  return {
    streams: (prefix, after, limit) => async () =>
      E.map(() =>
        [...entries.keys()]
          .filter((name) => name.startsWith(prefix) && name > after)
          .toSorted()
          .slice(0, limit),
      )(await refresh()),
    count: (stream, type, through) => async () => {
      const known = entries.get(stream)
      // What is known of an event stays true.
      const fresh = known && through < known.events ? E.right(undefined) : await refresh()
      if (E.isLeft(fresh)) return fresh
      const { events, others } = entries.get(stream) ?? { events: 0, others: new Map<string, number[]>() }
      const countOf = (revisions: readonly number[] = []): number =>
        revisions.filter((revision) => revision <= through).length
      if (type !== 'MessageAppended') return E.right(countOf(others.get(type)))
      const besides = [...others.values()].reduce((sum, revisions) => sum + countOf(revisions), 0)
      return E.right(Math.min(events, through + 1) - besides)
    },
  }
}
