import { run } from '../../result/fallible.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { busyIn } from './runs.ts'
import { isStandby, type Shift } from './shift.ts'

export interface WorkerHeartbeat {
  /** Records a beat if one is due, and keeps recording beats from then on. */
  readonly beat: () => void
  /** Records a beat at once, because the worker's state has changed. */
  readonly changed: () => void
  /** Stops the beats; resolves once all of them are recorded or refused. */
  readonly stop: () => Promise<void>
}

/** Fraction of a worker's TTL after which the worker beats again if it has work. */
export const beatShare = 0.3
/** Ratio of an idle worker's beat interval to a busy worker's beat interval. */
const idleBeats = 20

export const createHeartbeat = (shift: Shift): WorkerHeartbeat => {
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
  const stop = (): Promise<void> => {
    isOver = true
    cancel()
    return told
  }
  const changed = (): void => {
    beatAt = -Infinity
    beat()
  }
  return { beat, changed, stop }
}
