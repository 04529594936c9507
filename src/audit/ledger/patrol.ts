import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { Actor } from '../../events/events.ts'
import { catchTyped, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { pause } from '../../result/timers.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { count } from '../../agent/telemetry/metrics.ts'
import type { Anchor } from './anchors.ts'
import { type AuditSummary, runAudit, type AuditProgress } from './run-audit.ts'
import type { LedgerError } from './errors.ts'
import { patrolStream, placeStream } from './facts.ts'
import { dataOf, lastOf, record } from './stored-facts.ts'
import type { AuditProblem } from './verify.ts'

/** Options for `patrol`. */
export interface PatrolOptions {
  readonly anchors?: readonly Anchor[] | undefined
  /** Verifier key of the ledger from a source outside the store. Default: the key named by the store. */
  readonly key?: string | undefined
  /** Interval between the starts of two rounds, in milliseconds. Default: one day. */
  readonly every?: number | undefined
  /** Fraction of the time spent working, above 0 and up to 1. Default 0.1. */
  readonly share?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onEvent?: ((event: PatrolEvent) => void) | undefined
}

/** A completed round of a patrol, as recorded in the store. */
export interface PatrolRound extends Omit<AuditSummary, 'type'> {
  /** Time at which the round began (ISO 8601, UTC); interruptions do not change it. */
  readonly began?: string | undefined
}

/** Event reported by a patrol. `alarm`: a problem that no earlier round has recorded. */
export type PatrolEvent =
  | { readonly type: 'alarm'; readonly problem: AuditProblem }
  | ({ readonly type: 'round' } & PatrolRound)
  | { readonly type: 'failed'; readonly error: LedgerError }

export interface PatrolContext {
  readonly store: EventStore
  readonly actor: Actor
  readonly conversation: (id: string) => ConversationHandle
  readonly anchors: readonly Anchor[]
  readonly key: string | undefined
  readonly every: number
  readonly share: number
  readonly signal: AbortSignal
  readonly tell: (event: PatrolEvent) => void
}

export const day = 86_400_000
/** Milliseconds before a failed round is retried. */
const again = 60_000
/** Milliseconds after its start during which a patrol gives the sealer time for the first checkpoint of an anchor. */
const newFor = 3_600_000

/**
 * Audits everything at a limited rate, in rounds, until the signal aborts. After a restart, it waits until the next round is due or
 * continues an interrupted one.
 */
export async function* patrolOn(patrolling: PatrolContext): Fallible<LedgerError, void> {
  const { store, every, signal, tell } = patrolling
  let due = yield* catchTyped<LedgerError, number>(async () => {
    const last = await lastRound(store)
    return last ? Date.parse(last.round.began ?? last.round.time) + every : 0
  })
  const started = Date.now()
  for (;;) {
    await pause(Math.max(0, due - Date.now()), signal)
    if (signal.aborted) return
    const tried = Date.now()
    const mayBeNew = tried - started < newFor
    const gone = await run(catchTyped<LedgerError, string>(() => round(patrolling, mayBeNew)))
    if (E.isLeft(gone)) tell({ type: 'failed', error: gone.left })
    due = E.isLeft(gone) ? tried + Math.min(again, every) : Date.parse(gone.right) + every
  }
}

/**
 * Runs one round, or the rest of an interrupted one, until it ends or the signal aborts. Throws a `LedgerError`.
 *
 * @returns the time at which the round began
 */
const round = async (patrolling: PatrolContext, mayBeNew: boolean): Promise<string> => {
  const { store, share, signal, tell } = patrolling
  const known = await alarmsIn(store)
  const before = (await lastRound(store))?.revision ?? -1
  const rest = await interrupted(store, before)
  const began = rest?.began ?? new Date().toISOString()
  let progress = rest?.progress
  let keptAt = Date.now()
  let kept = progress
  const keep = async (): Promise<void> => {
    if (progress !== undefined && progress !== kept) {
      const data = { round: before, began, ...progress }
      await orThrow(run(record(patrolling, placeStream, { type: 'PatrolReached', data })))
    }
    kept = progress
    keptAt = Date.now()
  }
  try {
    let worked = performance.now()
    for await (const finding of runAudit({ ...patrolling, progress, mayBeNew })) {
      if (finding.type === 'passed') progress = finding.progress
      if (finding.type === 'problem') await alarmed(patrolling, finding, known)
      if (finding.type === 'done') {
        const { type: _type, ...counts } = finding
        const gone = { began, ...counts }
        await orThrow(run(record(patrolling, patrolStream, { type: 'PatrolRound', data: gone })))
        progress = undefined
        tell({ type: 'round', ...gone })
        return began
      }
      const took = performance.now() - worked
      if (took >= turn) {
        await pause((took * (1 - share)) / share, signal)
        worked = performance.now()
      }
      if (signal.aborted) break
      if (Date.now() - keptAt >= keepEvery) await keep()
    }
    return began
  } finally {
    await keep()
  }
}

/** Interval between records of the progress, in milliseconds. A patrol that is killed repeats at most this much of its round. */
const keepEvery = 300_000

/** Milliseconds of work before each pause. Checking one conversation may take longer. */
const turn = 20

const alarmed = async (
  patrolling: PatrolContext,
  problem: AuditProblem,
  known: Set<string>,
): Promise<void> => {
  const { type: _type, ...data } = problem
  count('palimpsest.audit.problems', 1, { 'palimpsest.audit.kind': problem.kind })
  const name = nameOf(data)
  if (known.has(name)) return
  known.add(name)
  await orThrow(run(record(patrolling, patrolStream, { type: 'PatrolAlarm', data })))
  patrolling.tell({ type: 'alarm', problem })
}

/** A problem that a patrol recorded when it first found it, at `time`. */
export interface RecordedAlarm extends Alarm {
  readonly time: string
}

interface Alarm {
  readonly kind: AuditProblem['kind']
  readonly message: string
  readonly conversation?: string | undefined
  readonly revision?: number | undefined
}

/** Returns a key that identifies a problem, so that it is recorded only once. */
const nameOf = ({ kind, conversation, revision, message }: Alarm): string =>
  JSON.stringify([kind, conversation, revision, message])

/** Returns the progress of the round after revision `before`, if that round was interrupted. */
const interrupted = async (
  store: EventStore,
  before: number,
): Promise<{ readonly began: string | undefined; readonly progress: AuditProgress } | undefined> => {
  const last = await orThrow(run(lastOf(store, placeStream)))
  if (!last) return undefined
  const { round: after, began, ...progress } = (await orThrow(run(dataOf(last, 'PatrolReached')))).data
  return after === before ? { began, progress } : undefined
}

/** Maximum number of earlier events searched for alarms. */
const most = 1_000

/** Yields the recorded alarms, newest first, with their times. Throws a `LedgerError`. */
async function* alarmsOf(store: EventStore): AsyncGenerator<RecordedAlarm, void> {
  let read = 0
  for await (const page of backwards(store, patrolStream)) {
    const event = await orThrow(page)
    if (event.type === 'PatrolAlarm') {
      const { data, time } = await orThrow(run(dataOf(event, 'PatrolAlarm')))
      yield { ...data, time }
    }
    if (++read === most) return
  }
}

const alarmsIn = async (store: EventStore): Promise<Set<string>> => {
  const alarms = new Set<string>()
  for await (const alarm of alarmsOf(store)) alarms.add(nameOf(alarm))
  return alarms
}

/** Returns the last alarms, at most ten, newest first. Throws a `LedgerError`. */
export const lastAlarms = async (store: EventStore): Promise<readonly RecordedAlarm[]> => {
  const alarms: RecordedAlarm[] = []
  for await (const alarm of alarmsOf(store)) if (alarms.push(alarm) === 10) break
  return alarms
}

/** Returns the last completed round with its end time, and the revision of its record. Throws a `LedgerError`. */
export const lastRound = async (
  store: EventStore,
): Promise<
  { readonly round: PatrolRound & { readonly time: string }; readonly revision: number } | undefined
> => {
  for await (const page of backwards(store, patrolStream)) {
    const event = await orThrow(page)
    if (event.type !== 'PatrolRound') continue
    const { data, time, revision } = await orThrow(run(dataOf(event, 'PatrolRound')))
    return { round: { ...data, time }, revision }
  }
  return undefined
}
