import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { breath } from '../breath.ts'
import { remembered } from '../lru.ts'
import { type Conflict, conflict, type StoreError } from '../errors.ts'
import type { Append, Appended } from '../port.ts'
import { storeError } from './errors.ts'
import type { Guard } from './guard.ts'
import { streamEnds } from './ends.ts'
import { onceFree } from './lock.ts'
import { currentVersion } from './schema.ts'

type Outcome = E.Either<StoreError | Conflict, Appended>
interface Waiting {
  readonly request: Append
  readonly settle: (outcome: Outcome) => void
}

/** A stream that this process has written to. */
interface Known {
  readonly id: number
  /** A revision that it has; the last one, unless another process has gone on from there. */
  last: number
}

/** What became of an append in a transaction; `id` is that of its stream, if it wrote. */
interface Tried {
  readonly outcome: Outcome
  readonly id?: number
  /** The global position of its last event, if it wrote. */
  readonly position?: number
}

/** An append that was written, and the global position of its last event. */
export interface Kept {
  readonly request: Append
  readonly position: number
}

interface Settings {
  readonly url: string
  readonly timeout: number
}

export interface Writer {
  readonly append: (request: Append) => Promise<Outcome>
  /** Resolves when everything appended so far has its outcome, and the ends are written. */
  readonly finish: () => Promise<void>
}

const isBusy = (begun: E.Either<StoreError, void>): boolean =>
  E.isLeft(begun) && begun.left._tag === 'StoreBusy'

/** What comes behind the work at hand: a microtask costs a third of what a tick does. */
const soon = Promise.resolve()
const written: Outcome = E.right('written')
const maxStreams = 10_000

/**
 * Writes appends. Those that arrive in the same tick share one transaction, and so one wait for the disk, while each has an
 * outcome of its own: a conflict writes nothing and disturbs no other.
 *
 * @param wrote told what was written, in order, once it is kept
 */
export const sqliteWriter = (
  db: DatabaseSync,
  { url, timeout }: Settings,
  guard: Guard,
  wrote: (kept: readonly Kept[]) => void,
): Writer => {
  const statements = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    stream: db.prepare('SELECT id FROM streams WHERE name = ?'),
    create: db.prepare('INSERT INTO streams (name) VALUES (?) RETURNING id'),
    last: db.prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
    insert: db.prepare(
      // A newer palimpsest may change the schema at any moment.
      `INSERT INTO events (stream, revision, id, type, data, metadata, findable) SELECT ?, ?, ?, ?, ?, ?, ?
       WHERE (SELECT user_version FROM pragma_user_version) = ${currentVersion}
       ON CONFLICT (stream, revision) DO NOTHING`,
    ),
    idAt: db.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?'),
  }
  // A revision that no number holds is the trouble of its own stream, not of all that are written to in this transaction.
  statements.last.setReadBigInts(true)
  const streams = remembered<Known>(maxStreams)
  const ends = streamEnds(db, () => {
    endsAreDue = true
    schedule()
  })
  let endsAreDue = false
  let waiting: Waiting[] = []
  let kept: Kept[] = []
  let whenIdle: (() => void)[] = []
  let isScheduled = false
  /** Whether the last wait for another writer was in vain. */
  let isLockedOut = false
  /** Why nothing more is written: what would be would not be found again. */
  let lost: StoreError | undefined

  const isRepeat = (stream: number, { events, expected }: Append): boolean =>
    events.every((event, index) => statements.idAt.get(stream, expected + 1 + index)?.['id'] === event.id)

  const idOf = (stream: string): number | undefined => {
    const row = statements.stream.get(stream)
    return row && Number(row['id'])
  }

  /**
   * The global position of the last event; undefined if they could not be written: the first revision that they would have may be
   * another writer's.
   */
  const insert = (id: number, { events, expected, findable = false }: Append): number | undefined => {
    let position: number | undefined
    let revision = expected
    for (const { id: event, type, data, metadata } of events) {
      const mark = findable === 'each' || (findable && revision === expected) ? 1 : null
      const inserted = statements.insert.run(id, ++revision, event, type, data, metadata, mark)
      if (inserted.changes !== 1) return undefined
      position = Number(inserted.lastInsertRowid)
    }
    return position
  }

  const write = (request: Append): Tried => {
    const { stream, expected } = request
    const known = streams.get(stream)
    // Events stay: one that was seen need not be looked for, and the index tells whether another has come behind it.
    const behind = known?.last === expected ? insert(known.id, request) : undefined
    if (known && behind !== undefined) return { outcome: written, id: known.id, position: behind }
    const found = known?.id ?? idOf(stream)
    const last = found === undefined ? -1 : Number(statements.last.get(found)?.['revision'] ?? -1)
    if (last !== expected) {
      const isDone = found !== undefined && isRepeat(found, request)
      return { outcome: isDone ? E.right('repeated') : E.left(conflict(stream, expected, last)) }
    }
    const id = found ?? Number(statements.create.get(stream)?.['id'])
    const position = insert(id, request)
    return { outcome: written, id, ...(position !== undefined && { position }) }
  }

  const tryBegin = (): E.Either<StoreError, void> => {
    try {
      statements.begin.run()
      return E.right(undefined)
    } catch (error) {
      return E.left(storeError(url, error))
    }
  }

  const writeAll = (batch: readonly Waiting[]): E.Either<StoreError, readonly Tried[]> => {
    try {
      const changed = guard.schemaProblem()
      if (changed) {
        statements.rollback.run()
        return E.left(changed)
      }
      const tried = batch.map(({ request }) => write(request))
      if (endsAreDue) ends.write()
      statements.commit.run()
      lost = guard.fileProblem()
      return lost ? E.left(lost) : E.right(tried)
    } catch (error) {
      if (db.isTransaction) statements.rollback.run()
      return E.left(storeError(url, error))
    }
  }

  /** Remembers what a transaction wrote, now that it is kept. */
  const note = (request: Append, id: number, position: number): void => {
    kept.push({ request, position })
    const { stream, events, expected } = request
    const last = expected + events.length
    const known = streams.get(stream)
    if (known) known.last = last
    else streams.set(stream, { id, last })
    const event = events.at(-1)
    if (event) ends.note(id, last, event)
  }

  /**
   * Writes one event behind one that was seen: a single statement, and so a transaction of its own. False where that is not all there
   * is to do, or went wrong: the long way finds out how.
   */
  const wroteAlone = (): boolean => {
    const [only] = waiting
    if (!only || waiting.length > 1 || endsAreDue || only.request.events.length > 1) return false
    const known = streams.get(only.request.stream)
    if (known?.last !== only.request.expected) return false
    let position: number | undefined
    try {
      position = insert(known.id, only.request)
    } catch {
      return false
    }
    if (position === undefined) return false
    waiting = []
    lost = guard.fileProblem()
    if (!lost) note(only.request, known.id, position)
    only.settle(lost ? E.left(lost) : written)
    return true
  }

  const settleAll = (tried: E.Either<StoreError, readonly Tried[]>): void => {
    const batch = waiting
    waiting = []
    endsAreDue = false
    batch.forEach(({ request, settle }, index) => {
      const one = E.isLeft(tried) ? { outcome: tried } : tried.right[index]
      if (one?.id !== undefined && one.position !== undefined) note(request, one.id, one.position)
      if (one) settle(one.outcome)
    })
    goOn()
  }

  const goOn = (): void => {
    isScheduled = false
    if (waiting.length > 0 || endsAreDue) schedule()
    else {
      for (const tell of whenIdle) tell()
      whenIdle = []
    }
    const those = kept
    kept = []
    if (those.length > 0) wrote(those)
  }

  const flush = (): void => {
    if (lost) return settleAll(E.left(lost))
    if (waiting.length === 0 && !endsAreDue) return goOn()
    if (wroteAlone()) return goOn()
    const finish = (begun: E.Either<StoreError, void>): void => {
      isLockedOut = isBusy(begun)
      settleAll(E.isLeft(begun) ? begun : writeAll(waiting))
    }
    const begun = tryBegin()
    // The ends alone are not worth another wait: without them all is as after a crash.
    const isWaitedFor = waiting.length > 0 || !isLockedOut
    if (isBusy(begun) && isWaitedFor) void onceFree(timeout, tryBegin).then(finish)
    else finish(begun)
  }

  /** Has the writing done behind the work at hand, so that what that still appends goes along. */
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    // The process gets round to its other work, also if appends follow one another without a pause.
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
