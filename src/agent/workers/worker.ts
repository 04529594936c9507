import { leaveReason } from '../models/abort.ts'
import type { RecordedEvent } from '../../store/port.ts'
import { createHeartbeat } from './heartbeat.ts'
import { within } from './clock.ts'
import { whenAborted, drain, workerExitOf, type WorkerExit } from './drain.ts'
import { runFeed, type FeedListener, prefixesOf } from './feed.ts'
import { createStepPicker } from './step-picker.ts'
import { turningOf } from './give.ts'
import type { OpenStep } from './open-step.ts'
import { endAll, newRun, type Signals } from './runs.ts'
import { hasSeenClaim, serve } from './serve.ts'
import { createSnapshotKeeper } from './snapshot-keeper.ts'
import { beginShift, isStandby, type Shift, type WorkerEnvironment, type WorkerSettings } from './shift.ts'
import { gaugeSteps } from './trace-attempt.ts'
import { vigil } from './vigil.ts'

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
const farewell = 200

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
  const { store, clock } = around
  const over = new AbortController()
  const shift = beginShift(worker, settings, around, over.signal)
  const { known, runs, watch } = shift
  let isUp = false

  const begin = (conversation: string, step: OpenStep): void => {
    const its = newRun(shift.chats.of(conversation), step.attempt, isStandby(shift))
    runs.set(conversation, its)
    void serve(shift, its, step, signals).finally(() => {
      runs.delete(conversation)
      if (its.claimed !== undefined) shift.chats.keep(its.chat, turningOf(its.chat).size())
      watch.changed()
      look()
    })
  }
  const mayTake = (): boolean => isUp && !signal.aborted && !known.workers.get(worker)?.isPaused
  const beats = createHeartbeat(shift)
  const watched = vigil(shift)
  const settler = createSnapshotKeeper(shift)
  const { look, stop: stopLooking } = createStepPicker(shift, mayTake, begin)
  const signals: Signals = {
    claimed: beats.beat,
    ended: (_, step) => settings.onStep(step),
    freed: look,
  }
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
  const listener: FeedListener = {
    event: (event: RecordedEvent) => {
      known.see(event, clock.now())
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

  const feeding = { clock, signal: over.signal, begin: settler.begin }
  const fed = runFeed(store, prefixesOf(settings.conversations), listener, feeding)
  const stopGauges = gaugeSteps(worker, known)
  settings.standby?.addEventListener('abort', stepIn)
  const drained = whenAborted(signal).then(() => drain(shift, beats.stop))
  const ended = await Promise.race([drained, fed.then(() => workerExitOf('closed', runs, false))])
  over.abort()
  settings.standby?.removeEventListener('abort', stepIn)
  watched.end(ended.isRecorded)
  void beats.stop()
  stopGauges()
  stopLooking()
  endAll(runs, 'the store is closed')
  await within(clock, farewell, fed)
  return ended
}
