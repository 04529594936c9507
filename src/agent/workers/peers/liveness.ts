import { randomUUID } from 'node:crypto'
import type { TurnClaimant } from '../../../conversation/beside/party.ts'
import { tell } from '../../../conversation/beside/worker-log.ts'
import type { Actor } from '../../../events/events.ts'
import { workerStreamOf } from '../../../events/ids.ts'
import { run, type Fallible } from '../../../result/fallible.ts'
import type { WriteError } from '../../../store/errors.ts'
import type { EventStore, NameRelease } from '../../../store/port.ts'
import { lastEvent } from '../board/feed.ts'
import { busyIn, isStandby, retryWrite, type Shift } from '../serving/shift.ts'
import type { Clock } from './clock.ts'

/** Fraction of a worker's TTL after which the worker beats again if it has work. */
const beatShare = 0.3
/** Ratio of an idle worker's beat interval to a busy worker's beat interval. */
const idleBeats = 20

/** Returns functions that record that a worker is alive. */
export const createHeartbeat = (shift: Shift) => {
  const { worker, settings, around, runs, over } = shift
  const { store, actor, clock } = around
  const every = settings.ttl * beatShare
  let beatAt = -Infinity
  let wasBusy = true
  let cancel = (): void => {}
  let isOver = false
  let told: Promise<void> = Promise.resolve()

  const isDue = (): boolean => {
    const since = clock.now() - beatAt
    return since >= every * idleBeats || (since >= every && (runs.size > 0 || wasBusy))
  }
  /** Records a beat if one is due, and keeps recording beats from then on. */
  const beat = (): void => {
    cancel()
    if (over.aborted || isOver) return
    if (isDue()) {
      beatAt = clock.now()
      wasBusy = runs.size > 0
      const busy = busyIn(runs)
      const data = isStandby(shift)
        ? { slots: 0, busy, standby: true as const }
        : { slots: shift.capacity.slots, busy }
      // Not awaited, because the store may not respond before the next beat is due.
      const telling = run(tell(store, actor, worker, { type: 'WorkerBeat', data }))
      told = Promise.all([told, telling]).then(() => undefined)
    }
    cancel = clock.after(Math.max(beatAt + every - clock.now(), every / 10), beat)
  }
  /** Stops the beats; resolves once all of them are recorded or refused. */
  const stop = (): Promise<void> => {
    isOver = true
    cancel()
    return told
  }
  /** Records a beat at once, because the worker's state has changed. */
  const changed = (): void => {
    beatAt = -Infinity
    beat()
  }
  return { beat, changed, stop }
}

const ended = { type: 'WorkerStopped', data: { reason: 'its process has ended' } } as const

/** Reports whether the worker or program with this name is known to have ended. If its end is not yet recorded, records it now. */
async function* isGone(store: EventStore, actor: Actor, name: string): Fallible<WriteError, boolean> {
  const forget = await store.liveness?.inherit(name)
  if (forget) {
    yield* tell(store, actor, name, ended)
    await forget()
    return true
  }
  return (yield* lastEvent(store, workerStreamOf(name)))?.type === ended.type
}

/** Milliseconds between checks of workers that hold conversations. */
const often = 50
/** Milliseconds between checks while no other worker holds a conversation. */
const sometimes = 100
/** Milliseconds between checks of all other workers. */
const seldom = 10_000

/**
 * Returns a monitor that shows other processes that the worker's process is alive, and reports workers that ended without recording it,
 * so that their steps become free at once. It does both only where the store supports this.
 *
 * @param lost called if others may take this worker for dead
 */
export const vigil = (shift: Shift, lost: () => void) => {
  const { worker, known } = shift
  const { store, actor, clock } = shift.around
  const { liveness } = store
  const held = liveness?.hold(worker, lost)
  const reporting = new Set<string>()
  let lookedAt = -Infinity
  let cancel = (): void => {}

  const holders = (): ReadonlySet<string> => {
    const names = new Set<string>()
    for (const { holder } of known.lanes.inProgress.values())
      if (holder !== undefined && holder !== worker) names.add(holder)
    return names
  }

  const report = async (name: string): Promise<void> => {
    if (reporting.has(name)) return
    reporting.add(name)
    const forget = await liveness?.inherit(name)
    if (forget && (await retryWrite(shift, () => tell(store, actor, name, ended)))) await forget()
    reporting.delete(name)
  }
  const reportAll = async (): Promise<void> => {
    for (const name of (await liveness?.names()) ?? []) if (name !== worker) void report(name)
  }
  const look = (): void => {
    const names = holders()
    for (const name of names) void report(name)
    if (clock.now() - lookedAt >= seldom) {
      lookedAt = clock.now()
      void reportAll()
    }
    cancel = clock.after(names.size > 0 ? often : sometimes, look)
  }

  const begin = (): void => {
    if (liveness && lookedAt === -Infinity) look()
  }
  /**
   * Ends the monitoring.
   *
   * @param hasStopped true if the log records that the worker has stopped; if false, other workers detect that it has ended
   */
  const end = async (hasStopped: boolean): Promise<void> => {
    cancel()
    if (hasStopped) await (await held)?.()
  }
  return { begin, end }
}

/** Returns the claimant for a program that runs turns. Unlike a worker, it records beats only during long turns and takes no steps. */
export const programOn = (store: EventStore, actor: Actor, clock: Clock): TurnClaimant => {
  const id = `program-${randomUUID()}`
  /** Silence allowed to each of the program's turns in progress. */
  const lives = new Set<{ readonly ttl: number }>()
  // One after the other, because the name is held again and again. Not awaited: the turn needs no answer.
  let held: Promise<NameRelease | undefined> = Promise.resolve(undefined)
  const hold = (): void => {
    held = held.then(() => store.liveness?.hold(id))
  }
  const release = (): void => {
    held = held.then(async (forget) => {
      await forget?.()
      return undefined
    })
  }
  let cancel = (): void => {}

  const wind = (): void => {
    cancel()
    if (lives.size === 0) return
    const ttl = Math.min(...[...lives].map((life) => life.ttl))
    cancel = clock.after(ttl * beatShare, () => void beat())
  }
  const beat = async (): Promise<void> => {
    wind()
    await run(tell(store, actor, id, { type: 'WorkerBeat', data: { slots: 0, busy: lives.size } }))
  }
  return {
    id,
    isWorker: false,
    clock,
    holds: new Set(),
    live: (ttl) => {
      const life = { ttl }
      if (lives.size === 0) hold()
      lives.add(life)
      wind()
      return () => {
        lives.delete(life)
        if (lives.size === 0) release()
        wind()
      }
    },
    isGone: (other) => isGone(store, actor, other),
    lookEvery: store.liveness ? often : Infinity,
  }
}
