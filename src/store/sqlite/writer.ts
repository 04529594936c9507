import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { remembered } from '../ends.ts'
import { type Conflict, conflict, type StoreError } from '../errors.ts'
import type { Append, Appended } from '../port.ts'
import { storeError } from './errors.ts'
import { streamHeads } from './heads.ts'

type Outcome = E.Either<StoreError | Conflict, Appended>
interface Waiting {
  readonly request: Append
  readonly settle: (outcome: Outcome) => void
}

/** What became of an append in a transaction; `id` is that of its stream, if it wrote. */
interface Tried {
  readonly outcome: Outcome
  readonly id?: number
}

interface Settings {
  readonly url: string
  readonly timeout: number
}

export interface Writer {
  readonly append: (request: Append) => Promise<Outcome>
  /** Resolves when everything appended so far has its outcome, and the heads are written. */
  readonly finish: () => Promise<void>
}

const maxStreams = 10_000
/** Every so many flushes the process gets round to its other work, if appends follow one another without a pause. */
const flushesPerTurn = 64

/**
 * Writes appends. Those that arrive in the same tick share one transaction, and so one wait for the disk, while each has an
 * outcome of its own: a conflict writes nothing and disturbs no other.
 */
export const sqliteWriter = (db: DatabaseSync, { url, timeout }: Settings, wrote: () => void): Writer => {
  const statements = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    stream: db.prepare('SELECT id FROM streams WHERE name = ?'),
    create: db.prepare('INSERT INTO streams (name) VALUES (?) RETURNING id'),
    last: db.prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
    insert: db.prepare(
      'INSERT INTO events (stream, revision, id, type, data, metadata, findable) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    idAt: db.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?'),
  }
  const ids = remembered<number>(maxStreams)
  const heads = streamHeads(db, () => {
    headsAreDue = true
    flushing ??= flush()
  })
  let headsAreDue = false
  let waiting: Waiting[] = []
  let flushing: Promise<void> | undefined
  let turns = 0

  const isRepeat = (stream: number, { events, expected }: Append): boolean =>
    events.every((event, index) => statements.idAt.get(stream, expected + 1 + index)?.['id'] === event.id)

  const idOf = (stream: string): number | undefined => {
    const known = ids.get(stream)
    if (known !== undefined) return known
    const row = statements.stream.get(stream)
    return row && Number(row['id'])
  }

  const write = ({ stream, events, expected, findable = false }: Append): Tried => {
    const known = idOf(stream)
    const last = known === undefined ? -1 : Number(statements.last.get(known)?.['revision'] ?? -1)
    if (last !== expected) {
      const isDone = known !== undefined && isRepeat(known, { stream, events, expected })
      return { outcome: isDone ? E.right('repeated') : E.left(conflict(stream, expected, last)) }
    }
    const id = known ?? Number(statements.create.get(stream)?.['id'])
    events.forEach((event, index) => {
      const mark = findable && index === 0 ? 1 : null
      const { data, metadata, type } = event
      statements.insert.run(id, expected + 1 + index, event.id, type, data, metadata, mark)
    })
    return { outcome: E.right('written'), id }
  }

  const tryBegin = (): E.Either<StoreError, void> => {
    try {
      statements.begin.run()
      return E.right(undefined)
    } catch (error) {
      return E.left(storeError(url, error))
    }
  }

  /** Takes the write lock once others have let go of it, without blocking the process. */
  const waitForLock = async (): Promise<E.Either<StoreError, void>> => {
    const deadline = Date.now() + timeout
    for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
      const begun = tryBegin()
      if (E.isRight(begun) || begun.left._tag !== 'StoreBusy' || Date.now() > deadline) return begun
      await sleep(Math.random() * pause)
    }
  }

  const writeAll = (batch: readonly Waiting[]): E.Either<StoreError, readonly Tried[]> => {
    try {
      const tried = batch.map(({ request }) => write(request))
      if (headsAreDue) heads.write()
      statements.commit.run()
      return E.right(tried)
    } catch (error) {
      if (db.isTransaction) statements.rollback.run()
      return E.left(storeError(url, error))
    }
  }

  /** Remembers what a transaction wrote, now that it is kept. */
  const note = ({ stream, events, expected }: Append, id: number): void => {
    if (ids.get(stream) === undefined) ids.set(stream, id)
    const last = events.at(-1)
    if (last) heads.note(id, expected + events.length, last)
  }

  const flush = async (): Promise<void> => {
    while (waiting.length > 0 || headsAreDue) {
      // At the end of the work at hand, so that what it still appends goes along.
      await new Promise((resolve) => {
        if (++turns % flushesPerTurn === 0) setImmediate(resolve)
        else process.nextTick(resolve)
      })
      const free = tryBegin()
      const begun = E.isLeft(free) && free.left._tag === 'StoreBusy' ? await waitForLock() : free
      const batch = waiting
      waiting = []
      const written = E.isLeft(begun) ? begun : writeAll(batch)
      headsAreDue = false
      batch.forEach(({ request, settle }, index) => {
        const tried = E.isLeft(written) ? { outcome: written } : written.right[index]
        if (tried?.id !== undefined) note(request, tried.id)
        if (tried) settle(tried.outcome)
      })
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
    finish: async () => {
      heads.stop()
      headsAreDue = heads.areWaiting()
      await (flushing ?? flush())
    },
  }
}
