import * as E from 'fp-ts/lib/Either.js'
import { tell } from '../../../conversation/beside/worker-log.ts'
import { run } from '../../../result/fallible.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import { leaveReason } from '../../models/abort.ts'
import { prefixesOf, runFeed } from '../board/feed.ts'
import type { OpenStep } from '../board/open-step.ts'
import { createSnapshotKeeper } from '../board/snapshots.ts'
import { type PickingWorker, pick } from '../choosing/pick.ts'
import { within } from '../peers/clock.ts'
import { createHeartbeat, vigil } from '../peers/liveness.ts'
import { gaugeSteps } from '../peers/roster.ts'
import { turnRunnerOf } from './give.ts'
import { hasSeenClaim, serve } from './serve.ts'
import {
  beginShift,
  busyIn,
  endAll,
  isAlone,
  isStandby,
  newRun,
  type Shift,
  type WorkerEnvironment,
  type WorkerSettings,
} from './shift.ts'

/** Result of a worker's run: why the worker ended, and which conversations it could not release. */
export interface WorkerExit {
  /**
   * Reason why the worker ended. `stopped`: its signal aborted. `closed`: its store was closed, or the store's file was removed or
   * replaced; open the store again. `lost`: its connection to the database broke, and other workers may have taken over its
   * conversations; create another worker.
   */
  readonly why: 'stopped' | 'closed' | 'lost'
  /**
   * Conversations that the worker could not release, either because code of the program ignored its signal and may still be at work, or
   * because the store did not respond.
   */
  readonly left: readonly string[]
  /** True if the worker's end is in the log. If false, other workers wait for its `ttl` before they take over its conversations. */
  readonly isRecorded: boolean
}

/** Milliseconds after the grace period in which a worker can release its conversations. */
const parting = 1_000
/** Milliseconds after the grace period in which a worker can release its conversations and record its end. */
const farewell = 1_400

/** Resolves when the signal aborts. */
const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/**
 * Lets turns finish within the grace period, then aborts them. Records that the worker has stopped, even if it could not release
 * everything.
 *
 * @param stopBeating stops the heartbeat: a beat recorded afterwards would mean that the worker is alive
 * @returns true if the worker's end is recorded
 */
const drain = async (
  { worker, settings, around, runs, watch }: Shift,
  stopBeating: () => Promise<void>,
): Promise<boolean> => {
  const { store, actor, clock } = around
  const areOver = (): boolean => runs.size === 0
  await watch.until(areOver, settings.grace)
  const end = clock.now() + farewell
  endAll(runs, `${worker} stops`)
  watch.changed()
  await watch.until(areOver, parting)
  const sayStopped = () => run(tell(store, actor, worker, { type: 'WorkerStopped', data: {} }))
  const said = await within(clock, end - clock.now(), stopBeating().then(sayStopped))
  return said !== undefined && E.isRight(said)
}

/**
 * Creates the loop in which a worker finds steps to take. `look` takes steps as long as slots are free, and schedules the next search
 * for the time at which another step becomes available; `stop` cancels that search.
 *
 * @param mayTake reports whether the worker may begin a step
 * @param begin takes a step; from then on, the runs include the step's conversation
 */
const createStepPicker = (
  shift: Shift,
  mayTake: () => boolean,
  begin: (conversation: string, step: OpenStep) => void,
) => {
  const { worker, known, runs, refused, pace } = shift
  const { ttl } = shift.settings
  const { clock } = shift.around
  const isBusyWith = (conversation: string): boolean => runs.has(conversation) || refused.has(conversation)
  const tardy = new Map<string, number>()
  const taking = (): Iterable<string> => runs.keys()
  const me = (): PickingWorker => {
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

/** Aborts the turns in conversations that, according to the log, are parked or held by another worker. */
const endLost = (shift: Shift): void => {
  for (const [conversation, its] of shift.runs) {
    const { holder, stage } = shift.known.steps.get(conversation) ?? {}
    const isOthers = holder !== undefined && holder !== shift.worker
    if (its.claimed === undefined || !hasSeenClaim(shift, its) || !(isOthers || stage === 'parked')) continue
    its.isLost = true
    its.ends.abort(leaveReason(`${conversation} was taken over by ${holder ?? 'nobody'}`))
  }
}

/** Milliseconds allowed for pending reads of the store after the worker has ended. */
const lastReads = 200

/**
 * Takes steps of conversations and runs their turns until the signal aborts or the store is closed. Ends soon after the grace period,
 * even if other code is still running.
 */
export const work = async (
  worker: string,
  settings: WorkerSettings,
  around: WorkerEnvironment,
  signal: AbortSignal,
): Promise<WorkerExit> => {
  const { clock } = around
  const over = new AbortController()
  const shift = beginShift(worker, settings, around, over.signal)
  const { known, runs, watch } = shift
  let isUp = false

  const begin = (conversation: string, step: OpenStep): void => {
    const its = newRun(shift.chats.of(conversation), step.attempt, isStandby(shift))
    runs.set(conversation, its)
    void serve(shift, its, step, { claimed: beats.beat, freed: look }).finally(() => {
      runs.delete(conversation)
      if (its.claimed !== undefined) shift.chats.keep(its.chat, turnRunnerOf(its.chat).size())
      watch.changed()
      look()
    })
  }
  const mayTake = (): boolean => isUp && !signal.aborted && !known.workers.get(worker)?.isPaused
  const beats = createHeartbeat(shift)
  const lost = Promise.withResolvers<void>()
  const watched = vigil(shift, lost.resolve)
  const settler = createSnapshotKeeper(shift)
  const { look, stop: stopLooking } = createStepPicker(shift, mayTake, begin)
  const stepIn = (): void => {
    // A worker that has not caught up yet states its role in its first beat.
    if (isUp) beats.changed()
    look()
  }
  const react = (): void => {
    endLost(shift)
    watch.changed()
    look()
  }
  const listener = {
    begin: settler.begin,
    event: (event: RecordedEvent) => {
      known.see(event, clock.now(), isUp ? undefined : Date.now())
      settler.received(event.checkpoint)
      settler.settle(isUp)
      if (isUp) react()
    },
    caughtUp: () => {
      isUp = true
      known.reconnected(clock.now())
      beats.beat()
      watched.begin()
      settler.settle(isUp)
      react()
    },
    lost: () => {
      isUp = false
    },
  }
  const fed = runFeed(around, prefixesOf(settings.conversations), listener, over.signal)
  const stopGauges = gaugeSteps(worker, known)
  settings.standby?.addEventListener('abort', stepIn)
  const exitOf = (why: WorkerExit['why'], isRecorded: boolean): WorkerExit => {
    return { why, left: [...runs.keys()], isRecorded }
  }
  const drained = whenAborted(signal).then(() => drain(shift, beats.stop))
  const ended = await Promise.race([
    drained.then((isRecorded) => exitOf('stopped', isRecorded)),
    fed.then(() => exitOf('closed', false)),
    lost.promise.then(() => exitOf('lost', false)),
  ])
  over.abort()
  settings.standby?.removeEventListener('abort', stepIn)
  const released = watched.end(ended.isRecorded)
  void beats.stop()
  stopGauges()
  stopLooking()
  endAll(runs, ended.why === 'lost' ? 'others may take this worker for dead' : 'the store is closed')
  await within(clock, lastReads, Promise.all([fed, released]))
  return ended
}
