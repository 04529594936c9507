import * as E from 'fp-ts/lib/Either.js'
import { storeOn } from '../../../src/api/open.ts'
import { ownClock, type Clock } from '../../../src/agent/workers/peers/clock.ts'
import { type WorkerExit, work } from '../../../src/agent/workers/serving/worker.ts'
import { listSteps } from '../../../src/agent/workers/peers/roster.ts'
import type { WorkerSettings } from '../../../src/agent/workers/serving/shift.ts'
import type { EventStore } from '../../../src/store/port.ts'
import type { TurnError } from '../../../src/agent/turn/turn-result.ts'
import { atEnd } from '../at-end.ts'
import { settingsWith } from './settings.ts'

const actor = { kind: 'test' }

/** A worker, and how it is stopped. */
export interface Hand {
  readonly stop: () => void
  readonly ended: Promise<WorkerExit>
}

/** Starts a worker. It is stopped after the test. */
export const hand = (
  store: EventStore,
  worker: string,
  settings: Partial<WorkerSettings> = {},
  clock: Clock = ownClock,
): Hand => {
  const stop = new AbortController()
  const { conversation } = storeOn(store, actor)
  const around = { store, actor, conversation, clock }
  const ended = work(worker, settingsWith(settings), around, stop.signal)
  atEnd(() => stop.abort())
  return { stop: () => stop.abort(), ended }
}

const stopped: TurnError = { _tag: 'ModelAborted', message: 'stopped' }

/** Turns that last until they are ended. */
export const lasting: WorkerSettings['give'] = (_, signal) =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(E.left(stopped)))
  })

/** Says something, for which an answer may be requested. */
export const say = (store: EventStore, id: string, answer?: true) =>
  storeOn(store, actor)
    .conversation(id)
    .append({ role: 'user', content: 'Is it there?' }, { ...(answer && { answer }) })()

/** What workers are asked to do: conversation and state. */
export const stepsOf = async (
  store: EventStore,
  conversations?: readonly string[],
): Promise<readonly string[]> => {
  const all: string[] = []
  for await (const { conversation, state } of listSteps(store, { conversations }))
    all.push(`${conversation} ${state}`)
  return all
}

export const until = async (isSo: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}
