import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { unwrap, run, type Fallible, task } from '../result/fallible.ts'
import { type StoreError, storeFaulty } from './errors.ts'
import {
  type AllPage,
  type Checkpoint,
  type EventLog,
  type FindResult,
  maxPage,
  type StreamChanges,
  type StreamIndex,
} from './port.ts'
import { beginsWithOne } from './prefixes.ts'

/**
 * Maximum number of pages that `changed` reads before it gives up and returns undefined streams, meaning that any stream may have been
 * written.
 */
const mostPages = 10

/**
 * Creates an index for an event log that has none, using `read` and `readAll`. The index is complete but slow. Stream names come from
 * reading all events, which each later call continues, and are kept in memory. `find` reads the stream. `count` and `keptEnd` return
 * undefined.
 */
export const indexFromEvents = (log: EventLog): StreamIndex => {
  /** Stream names in the order in which the streams were begun. */
  const begun = new Set<string>()
  let sorted: readonly string[] = []
  let through: Checkpoint | undefined
  let reading: Promise<unknown> = Promise.resolve()

  async function* readOn(): Fallible<StoreError, void> {
    for (let isEnd = false; !isEnd;) {
      const page = yield* unwrap(ownPage(log, through))
      for (const { stream } of page.events) begun.add(stream)
      isEnd = endsLog(page, through)
      through = page.checkpoint
    }
    if (sorted.length < begun.size) sorted = [...begun].toSorted(byBytes)
  }

  /**
   * Reads the events written since the last read. Calls run one at a time, and each call reads separately, so it sees every append that
   * returned before the call.
   */
  async function* catchUp(): Fallible<StoreError, void> {
    const caughtUp = reading.then(() => run(readOn()))
    reading = caughtUp.catch(() => undefined)
    yield* unwrap(caughtUp)
  }

  return {
    find: (stream, id) =>
      task(async function* (): Fallible<StoreError, FindResult> {
        for (let from = 0; ;) {
          const page = yield* unwrap(log.read({ stream, from, direction: 'forwards', limit: maxPage }))
          const found = page.find((event) => event.id === id)
          const last = page.at(-1)
          if (found || !last) return { revision: found?.revision, through: last?.revision ?? from - 1 }
          from = last.revision + 1
        }
      }),
    count: () => TE.right(undefined),
    keptEnd: () => TE.right(undefined),
    streams: (prefix, after, limit) =>
      task(async function* (): Fallible<StoreError, readonly string[]> {
        yield* catchUp()
        return sorted.filter((name) => name.startsWith(prefix) && byBytes(name, after) > 0).slice(0, limit)
      }),
    newest: (prefixes, before, limit) =>
      task(async function* (): Fallible<StoreError, readonly string[]> {
        yield* catchUp()
        const names = [...begun].toReversed()
        return names
          .slice(before === undefined ? 0 : names.indexOf(before) + 1)
          .filter((name) => beginsWithOne(name, prefixes))
          .slice(0, limit)
      }),
    changed: (prefix, since) =>
      task(async function* (): Fallible<StoreError, StreamChanges> {
        const names = new Set<string>()
        for (let [after, pages] = [since, 0]; after !== undefined && pages < mostPages; pages++) {
          const answer = await log.readAll({ after, limit: maxPage, prefixes: [prefix] })()
          if (E.isLeft(answer)) {
            if (answer.left._tag === 'InvalidInput') break
            return yield answer.left
          }
          const page = answer.right
          for (const { stream } of page.events) names.add(stream)
          if (endsLog(page, after)) return { checkpoint: page.checkpoint, streams: names }
          after = page.checkpoint
        }
        yield* catchUp()
        return { checkpoint: through, streams: undefined }
      }),
  }
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Reads a page of all events after a checkpoint that the store itself issued. */
const ownPage = (log: EventLog, after: Checkpoint | undefined): TE.TaskEither<StoreError, AllPage> =>
  pipe(
    log.readAll({ after, limit: maxPage }),
    TE.mapLeft((error) =>
      error._tag === 'InvalidInput'
        ? storeFaulty(log.url, 'readAll', 'refused a checkpoint that it had returned', error)
        : error,
    ),
  )

const endsLog = ({ checkpoint, isEnd }: AllPage, after: Checkpoint | undefined): boolean =>
  isEnd === true || checkpoint === after
