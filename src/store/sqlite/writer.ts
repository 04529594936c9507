import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import { type Conflict, conflict, type StoreError } from '../errors.ts'
import type { Append } from '../port.ts'
import { isBusy, storeError } from './errors.ts'

type Outcome = E.Either<StoreError | Conflict, void>
interface Waiting {
  readonly request: Append
  readonly settle: (outcome: Outcome) => void
}

interface Settings {
  readonly url: string
  readonly timeout: number
}

export interface Writer {
  readonly append: (request: Append) => Promise<Outcome>
  /** Resolves when everything appended so far has its outcome. */
  readonly drain: () => Promise<void>
}

/**
 * Writes appends. Those that arrive in the same tick share one transaction, and so one wait for the disk, while each has an
 * outcome of its own: a conflict writes nothing and disturbs no other.
 */
export const sqliteWriter = (db: DatabaseSync, { url, timeout }: Settings, wrote: () => void): Writer => {
  const statements = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    stream: db.prepare('SELECT id, last FROM streams WHERE name = ?'),
    create: db.prepare(`INSERT INTO streams (name, last, hash) VALUES (?, -1, '') RETURNING id`),
    advance: db.prepare('UPDATE streams SET last = ?, hash = ? WHERE id = ?'),
    insert: db.prepare(
      'INSERT INTO events (stream, revision, id, type, data, metadata) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    idAt: db.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?'),
  }
  let waiting: Waiting[] = []
  let flushing: Promise<void> | undefined

  const isRepeat = (stream: number, { events, expected }: Append): boolean =>
    events.every((event, index) => statements.idAt.get(stream, expected + 1 + index)?.['id'] === event.id)

  const write = (request: Append): Outcome => {
    const { stream, events, expected } = request
    const row = statements.stream.get(stream)
    const last = row ? Number(row['last']) : -1
    if (last !== expected)
      return row && isRepeat(Number(row['id']), request)
        ? E.right(undefined)
        : E.left(conflict(stream, expected, last))
    const id = Number((row ?? statements.create.get(stream))?.['id'])
    let revision = last
    for (const event of events)
      statements.insert.run(id, ++revision, event.id, event.type, event.data, event.metadata)
    const newest = events.at(-1)
    if (newest) statements.advance.run(revision, hashOf(newest), id)
    return E.right(undefined)
  }

  /** Takes the write lock without blocking the process while others have it. */
  const begin = async (): Promise<E.Either<StoreError, void>> => {
    const deadline = Date.now() + timeout
    for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
      try {
        statements.begin.run()
        return E.right(undefined)
      } catch (error) {
        if (!isBusy(error) || Date.now() > deadline) return E.left(storeError(url, error))
        await sleep(Math.random() * pause)
      }
    }
  }

  const writeAll = (batch: readonly Waiting[]): E.Either<StoreError, readonly Outcome[]> => {
    try {
      const outcomes = batch.map(({ request }) => write(request))
      statements.commit.run()
      return E.right(outcomes)
    } catch (error) {
      if (db.isTransaction) statements.rollback.run()
      return E.left(storeError(url, error))
    }
  }

  const flush = async (): Promise<void> => {
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const begun = await begin()
      // Taken only now: what came while others had the lock goes along.
      const batch = waiting
      waiting = []
      const written = E.isLeft(begun) ? begun : writeAll(batch)
      batch.forEach(({ settle }, index) =>
        settle(E.isLeft(written) ? written : (written.right[index] ?? E.right(undefined))),
      )
      wrote()
    }
    flushing = undefined
  }

  return {
    append: (request) =>
      new Promise((settle) => {
        waiting.push({ request, settle })
        flushing ??= flush()
      }),
    drain: async () => flushing,
  }
}
