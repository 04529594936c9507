import type { Fallible } from '../../result/fallible.ts'
import { historyLost, type StoreError } from '../errors.ts'
import type { StreamRange } from '../port.ts'
import type { Connection, StreamsClient } from './connection.ts'
import { noAnswer, trailerOf } from './failures.ts'
import { eventIn, isSamePlace, type ReadResp, type LogPosition, type ServerEvent } from './responses.ts'
import { type PrefixFilter, readAllRequest, readLastRequest, readStreamRequest } from './requests.ts'

type Read<A> = Fallible<StoreError, A>

export interface Reads {
  /** Reads events like the port's `read`. Fails with `HistoryLost` if the database has dropped some of the events. */
  readonly range: (range: StreamRange) => Read<readonly ServerEvent[]>
  /**
   * Reads events after a log position that pass the filter; returns fewer than `limit` only if no more exist. The server may have to
   * search all of its events, which can take long.
   */
  readonly all: (
    filter: PrefixFilter,
    after: LogPosition | undefined,
    limit: number,
  ) => Read<readonly ServerEvent[]>
  /** Returns the log position of the last event in the database, from any writer; undefined if the database is empty. */
  readonly end: () => Read<LogPosition | undefined>
  /**
   * Returns the latest event in a stream's metadata stream; undefined if no metadata was ever set. Makes one attempt and rejects if it
   * fails.
   */
  readonly settings: (stream: string) => Promise<ServerEvent | undefined>
  /**
   * Reads events like `range`, but from streams that may be deleted and recreated: returns the existing events and does not report
   * losses.
   */
  readonly whatIsThere: (range: StreamRange) => Read<readonly ServerEvent[]>
}

type Request = ReturnType<typeof readAllRequest>

interface Patience {
  /** Maximum number of events to read. */
  readonly most?: number
  /** True if the server may search for a long time before it sends an event. */
  readonly maySearch?: boolean
}

export const reads = (connection: Connection): Reads => {
  /**
   * Reads the first `most` events of a response; returns undefined if the stream does not exist. A page of large events may take longer
   * than one attempt. The read fails if the server is silent for longer than one attempt, unless it is searching and still answers
   * other reads.
   */
  const readOnce = async (
    client: StreamsClient,
    request: Request,
    { most = Infinity, maySearch = false }: Patience = {},
  ): Promise<readonly ServerEvent[] | undefined> => {
    const { attempt } = connection.settings
    const call = client.read(request, ...connection.callArguments(Infinity))
    const end = connection.tracked(() => call.cancel())
    // A cancelled call emits an error when nothing listens any more.
    call.on('error', () => undefined)
    const events: ServerEvent[] = []
    let exists = true
    let isLate = false
    const isSearching = (): Promise<boolean> =>
      maySearch
        ? readOnce(client, readStreamRequest('palimpsest', undefined, true, 1)).then(
            () => true,
            () => false,
          )
        : Promise.resolve(false)
    const silent = async (): Promise<void> => {
      if (await isSearching()) return void timer.refresh()
      isLate = true
      end()
    }
    const timer = setTimeout(() => void silent(), attempt)
    try {
      for await (const response of call as AsyncIterable<ReadResp>) {
        timer.refresh()
        if (response.hasStreamNotFound()) exists = false
        const event = eventIn(response)
        // A filtered read ends only when the server has found one more event, or has searched everything.
        if (event && events.push(event) === most) break
      }
    } catch (failure) {
      throw isLate ? noAnswer(attempt) : failure
    } finally {
      clearTimeout(timer)
      end()
    }
    return exists ? events : undefined
  }

  const read = (
    request: Request,
    stream?: string,
    patience?: Patience,
  ): Read<readonly ServerEvent[] | undefined> =>
    connection.again(
      (client) => readOnce(client, request, patience),
      (error) =>
        stream !== undefined && trailerOf(error, 'exception') === 'stream-deleted'
          ? historyLost(stream, 'it was permanently deleted')
          : undefined,
    )

  const rangeOf = ({
    stream,
    from,
    direction,
    limit,
  }: StreamRange): Read<readonly ServerEvent[] | undefined> => {
    const isBackwards = direction === 'backwards'
    const isEnd = isBackwards && from >= Number.MAX_SAFE_INTEGER
    return read(readStreamRequest(stream, isEnd ? undefined : from, isBackwards, limit), stream)
  }

  const settingsRequest = (stream: string): Request => readStreamRequest(`$$${stream}`, undefined, true, 1)

  /**
   * Reports whether a stream was deleted, based on its metadata, because reading a deleted stream gives the same result as reading a
   * stream that never existed.
   */
  async function* isDeleted(stream: string): Read<boolean> {
    const [last] = (yield* read(settingsRequest(stream))) ?? []
    return last !== undefined && showsNothing(last)
  }

  return {
    range: async function* (range): Read<readonly ServerEvent[]> {
      const found = yield* rangeOf(range)
      const gap = found ? gapIn(range, found) : undefined
      if (gap !== undefined) return yield historyLost(range.stream, gap)
      if (!found && (yield* isDeleted(range.stream))) return yield historyLost(range.stream, 'it was deleted')
      return found ?? []
    },
    // A read includes the event at `after` itself, if that passes the filter.
    all: async function* (filter, after, limit): Read<readonly ServerEvent[]> {
      const most = after ? limit + 1 : limit
      const found = yield* read(readAllRequest(filter, after, most), undefined, { most, maySearch: true })
      return (found ?? []).filter(({ place }) => !isSamePlace(place, after)).slice(0, limit)
    },
    settings: (stream) =>
      connection.once((client) => readOnce(client, settingsRequest(stream))).then((events) => events?.[0]),
    end: async function* (): Read<LogPosition | undefined> {
      const [last] = (yield* read(readLastRequest())) ?? []
      return last?.place
    },
    whatIsThere: async function* (range): Read<readonly ServerEvent[]> {
      return (yield* rangeOf(range)) ?? []
    },
  }
}

/** Reports whether a stream's metadata hides all of its events, present and future, which marks a deletion. */
const showsNothing = ({ data }: ServerEvent): boolean => {
  try {
    const limits = JSON.parse(Buffer.from(data).toString()) as { readonly $tb?: number } | null
    return Number(limits?.$tb) > Number.MAX_SAFE_INTEGER
  } catch {
    return false
  }
}

/** Describes the events missing from a read; returns undefined if the read is complete. */
const gapIn = (
  { from, direction, limit }: StreamRange,
  events: readonly ServerEvent[],
): string | undefined => {
  const [first] = events
  const last = events.at(-1)
  if (!first || !last) return direction === 'backwards' || from === 0 ? 'nothing is left of it' : undefined
  const step = direction === 'forwards' ? 1 : -1
  const begins = direction === 'forwards' ? first.revision === from : true
  const ends = direction === 'forwards' || events.length === limit || last.revision === 0
  if (begins && ends && last.revision - first.revision === step * (events.length - 1)) return undefined
  const seen = direction === 'forwards' ? first.revision : last.revision
  return `it begins at revision ${seen}`
}
