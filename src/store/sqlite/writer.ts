import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { breath } from '../breath.ts'
import type { StoreError } from '../errors.ts'
import type { AppendRequest } from '../port.ts'
import { appendStatements, type SqliteAppendResult, type AppendAttempt } from './append.ts'
import { storeError } from './errors.ts'
import type { WrittenAppend } from '../written-append.ts'
import type { Guard } from './guard.ts'
import { onceFree } from './lock.ts'

interface Waiting {
  readonly request: AppendRequest
  readonly settle: (outcome: SqliteAppendResult) => void
}

interface Settings {
  readonly url: string
  readonly timeout: number
}

export interface SqliteWriter {
  readonly append: (request: AppendRequest) => Promise<SqliteAppendResult>
  /** Resolves when all appends made so far have completed or failed and the ends of their streams are written. */
  readonly finish: () => Promise<void>
}

const isBusy = (begun: E.Either<StoreError, void>): boolean =>
  E.isLeft(begun) && begun.left._tag === 'StoreBusy'

/**
 * Resolved promise used to schedule work after the current task; waiting for a microtask costs a third as much as waiting for a tick.
 */
const soon = Promise.resolve()

/**
 * Creates a writer of appends. Appends that arrive in the same tick share one transaction, and therefore one wait for the disk, but
 * each has its own outcome: an append with a conflict writes nothing and affects no other append.
 *
 * @param wrote called with the written appends, in order, after the commit
 */
export const sqliteWriter = (
  db: DatabaseSync,
  { url, timeout }: Settings,
  guard: Guard,
  wrote: (kept: readonly WrittenAppend[]) => void,
): SqliteWriter => {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const ride = (): void => {
    endsAreDue = true
  }
  const { write, note, ends } = appendStatements(db, ride, () => {
    ride()
    schedule()
  })
  let endsAreDue = false
  let waiting: Waiting[] = []
  let kept: WrittenAppend[] = []
  let whenIdle: (() => void)[] = []
  let isScheduled = false
  /** True if the last wait for another writer ended without the lock. */
  let isLockedOut = false
  /**
   * Error that prevents all further writes, set once the file is no longer at its path, because events written to it could not be found
   * again.
   */
  let lost: StoreError | undefined

  const tryBegin = (): E.Either<StoreError, void> => {
    try {
      begin.run()
      return E.right(undefined)
    } catch (error) {
      return E.left(storeError(url, error))
    }
  }

  const writeAll = (batch: readonly Waiting[]): E.Either<StoreError, readonly AppendAttempt[]> => {
    try {
      // A newer palimpsest may change the schema at any moment.
      const changed = guard.schemaProblem()
      if (changed) {
        rollback.run()
        return E.left(changed)
      }
      const tried = batch.map(({ request }) => write(request))
      if (endsAreDue) ends.write()
      commit.run()
      lost = guard.fileProblem()
      return lost ? E.left(lost) : E.right(tried)
    } catch (error) {
      if (db.isTransaction) rollback.run()
      return E.left(storeError(url, error))
    }
  }

  const settleAll = (tried: E.Either<StoreError, readonly AppendAttempt[]>): void => {
    const batch = waiting
    waiting = []
    endsAreDue = false
    batch.forEach(({ request, settle }, index) => {
      const one = E.isLeft(tried) ? { outcome: tried } : tried.right[index]
      if (one?.id !== undefined && one.position !== undefined) {
        kept.push({ request, position: one.position })
        note(request, one.id)
      }
      if (one) settle(one.outcome)
    })
    finishFlush()
  }

  const finishFlush = (): void => {
    isScheduled = false
    if (waiting.length > 0 || endsAreDue) schedule()
    else {
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    }
    const those = kept
    kept = []
    if (those.length > 0) wrote(those)
  }

  const flush = (): void => {
    if (lost) return settleAll(E.left(lost))
    if (waiting.length === 0 && !endsAreDue) return finishFlush()
    const finish = (begun: E.Either<StoreError, void>): void => {
      isLockedOut = isBusy(begun)
      settleAll(E.isLeft(begun) ? begun : writeAll(waiting))
    }
    const begun = tryBegin()
    // The ends alone are not worth another wait: without them, the file is in the same state as after a crash.
    const isWaitedFor = waiting.length > 0 || !isLockedOut
    if (isBusy(begun) && isWaitedFor) void onceFree(timeout, tryBegin).then(finish)
    else finish(begun)
  }

  /** Schedules a flush after the current task, so that everything the task still appends is included. */
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    // Lets the process do other work even if appends follow one another without a pause.
    void (breath() ?? soon).then(flush)
  }

  return {
    append: (request) =>
      new Promise((settle) => {
        waiting.push({ request, settle })
        schedule()
      }),
    finish: () =>
      new Promise((resolve) => {
        ends.stop()
        endsAreDue = ends.areWaiting()
        whenIdle.push(resolve)
        schedule()
      }),
  }
}
