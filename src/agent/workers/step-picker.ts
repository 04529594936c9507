import type { OpenStep } from './open-step.ts'
import { type Me, pick } from './pick.ts'
import { busyIn, isAlone } from './runs.ts'
import { isStandby, type Shift } from './shift.ts'

/** Loop in which a worker finds steps to take. */
export interface PickLoop {
  /** Takes steps as long as slots are free. Schedules the next search for the time at which another step becomes available. */
  readonly look: () => void
  readonly stop: () => void
}

/**
 * Creates the loop in which a worker finds steps to take.
 *
 * @param mayTake reports whether the worker may begin a step
 * @param begin takes a step; from then on, the runs include the step's conversation
 */
export const createStepPicker = (
  shift: Shift,
  mayTake: () => boolean,
  begin: (conversation: string, step: OpenStep) => void,
): PickLoop => {
  const { worker, settings, around, known, runs, refused, pace } = shift
  const { ttl } = settings
  const { clock } = around
  const isBusyWith = (conversation: string): boolean => runs.has(conversation) || refused.has(conversation)
  const tardy = new Map<string, number>()
  const taking = (): Iterable<string> => runs.keys()
  const me = (): Me => {
    const wait = { rankWait: pace.wait(), tardy }
    return { worker, ttl, isStandby: isStandby(shift), ...wait, isBusyWith, taking, time: Date.now }
  }
  let cancel = (): void => {}

  const lookAt = (at: number): void => {
    if (at < Infinity) cancel = clock.after(Math.max(0, at - clock.now()), look)
  }
  const hasRoom = (): boolean =>
    !isAlone(runs) && busyIn(runs) < (isStandby(shift) ? 1 : shift.capacity.slots)
  const look = (): void => {
    cancel()
    while (mayTake() && hasRoom()) {
      const { conversation, step, passed, lookAt: next } = pick(known, me(), clock.now())
      if (conversation === undefined || !step) return lookAt(Math.min(next, refused.earliest()))
      for (const other of passed) tardy.set(other, known.workers.get(other)?.heardAt ?? -Infinity)
      begin(conversation, step)
    }
  }
  return { look, stop: () => cancel() }
}
