import * as E from 'fp-ts/lib/Either.js'
import { historyLost, type StoreError } from '../errors.ts'
import type { Range } from '../port.ts'
import type { Connection, StreamsClient } from './connection.ts'
import { noAnswer, trailerOf } from './failures.ts'
import {
  eventIn,
  type Filter,
  isSamePlace,
  type ReadResp,
  readAllRequest,
  readLastRequest,
  readStreamRequest,
  type Place,
  type ServerEvent,
} from './messages.ts'

type Result<A> = Promise<E.Either<StoreError, A>>

export interface Reads {
  /** As the port's `read`: `HistoryLost` where the database no longer has all that was asked for. */
  readonly range: (range: Range) => Result<readonly ServerEvent[]>
  /**
   * Events that pass the filter, behind a place; fewer than `limit` if there are no more. May take as long as the server needs to
   * look through all of its events.
   */
  readonly all: (filter: Filter, after: Place | undefined, limit: number) => Result<readonly ServerEvent[]>
  /** The place of the last event there is, whosever; undefined in an empty database. */
  readonly end: () => Result<Place | undefined>
  /** A stream's metadata as they were last set; undefined if they never were. One attempt. */
  readonly settings: (stream: string) => Promise<E.Either<unknown, ServerEvent | undefined>>
  /** As `range`, of streams that may be deleted and come back: what is there, and no complaint. */
  readonly whatIsThere: (range: Range) => Result<readonly ServerEvent[]>
}

type Request = ReturnType<typeof readAllRequest>

interface Patience {
  /** Enough events. */
  readonly most?: number
  /** Whether the server may have to look through much before it has anything to say. */
  readonly maySearch?: boolean
}

export const reads = (connection: Connection): Reads => {
  /**
   * The events of a response, the first `most` of them; undefined if there is no such stream. A page of large events may take longer
   * than an attempt; silence may not, unless the server looks for something and answers others meanwhile.
   */
  const readOnce = async (
    client: StreamsClient,
    request: Request,
    { most = Infinity, maySearch = false }: Patience = {},
  ): Promise<readonly ServerEvent[] | undefined> => {
    const { attempt } = connection.settings
    const call = client.read(request, ...connection.callArguments(Infinity))
    const end = connection.tracked(() => call.cancel())
    // One that is left early reports that as an error, when nobody listens any more.
    call.on('error', () => undefined)
    const events: ServerEvent[] = []
    let isThere = true
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
        if (response.hasStreamNotFound()) isThere = false
        const event = eventIn(response)
        // A filtered read does not end before the server has found one event more, or looked through all.
        if (event && events.push(event) === most) break
      }
    } catch (failure) {
      throw isLate ? noAnswer(attempt) : failure
    } finally {
      clearTimeout(timer)
      end()
    }
    return isThere ? events : undefined
  }

  const read = (
    request: Request,
    stream?: string,
    patience?: Patience,
  ): Result<readonly ServerEvent[] | undefined> =>
    connection.again(
      (client) => readOnce(client, request, patience),
      (error) =>
        stream !== undefined && trailerOf(error, 'exception') === 'stream-deleted'
          ? historyLost(stream, 'it was deleted for ever')
          : undefined,
    )

  const rangeOf = ({ stream, from, direction, limit }: Range): Result<readonly ServerEvent[] | undefined> => {
    const isBackwards = direction === 'backwards'
    const isEnd = isBackwards && from >= Number.MAX_SAFE_INTEGER
    return read(readStreamRequest(stream, isEnd ? undefined : from, isBackwards, limit), stream)
  }

  const settingsRequest = (stream: string): Request => readStreamRequest(`$$${stream}`, undefined, true, 1)

  /** Whether a stream that reads as one that was never there was deleted. */
  const isDeleted = async (stream: string): Result<boolean> => {
    const found = await read(settingsRequest(stream))
    return E.map(([last]: readonly ServerEvent[] = []) => last !== undefined && showsNothing(last))(found)
  }

  return {
    range: async (range) => {
      const found = await rangeOf(range)
      if (E.isLeft(found)) return found
      if (found.right === undefined) {
        const deleted = await isDeleted(range.stream)
        if (E.isLeft(deleted)) return deleted
        return deleted.right ? E.left(historyLost(range.stream, 'it was deleted')) : E.right([])
      }
      const gap = gapIn(range, found.right)
      return gap === undefined ? E.right(found.right) : E.left(historyLost(range.stream, gap))
    },
    // A read begins with the event at the place, if it passes the filter.
    all: async (filter, after, limit) => {
      const most = after ? limit + 1 : limit
      const found = await read(readAllRequest(filter, after, most), undefined, { most, maySearch: true })
      return E.map((events: readonly ServerEvent[] = []) =>
        events.filter(({ place }) => !isSamePlace(place, after)).slice(0, limit),
      )(found)
    },
    settings: (stream) =>
      connection
        .once((client) => readOnce(client, settingsRequest(stream)))
        .then(([last]: readonly ServerEvent[] = []) => E.right(last), E.left),
    end: async () =>
      E.map(([last]: readonly ServerEvent[] = []) => last?.place)(await read(readLastRequest())),
    whatIsThere: async (range) =>
      E.map((events: readonly ServerEvent[] | undefined) => events ?? [])(await rangeOf(range)),
  }
}

/** Whether a stream's metadata say that none of its events is shown, now or later: what a deletion leaves. */
const showsNothing = ({ data }: ServerEvent): boolean => {
  try {
    const limits = JSON.parse(Buffer.from(data).toString()) as { readonly $tb?: number } | null
    return Number(limits?.$tb) > Number.MAX_SAFE_INTEGER
  } catch {
    return false
  }
}

/** How the events read differ from those asked for, if some are gone. */
const gapIn = ({ from, direction, limit }: Range, events: readonly ServerEvent[]): string | undefined => {
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
