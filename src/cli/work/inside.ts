import { isDeath } from '../../agent/workers/board/open-step.ts'
import type { AttemptReport, OpenStepInfo, Store, WorkerExit } from '../../index.ts'
import { type EventRelay, relayBeat } from '../../server/relay.ts'
import { changedText, createChangeCheck, loadAgent } from './agent.ts'
import { defaultGrace } from './child-message.ts'

/** A worker that runs in this process and relays the events of its turns. */
export interface Inside {
  /** Milliseconds that turns may take once the worker is told to end. */
  readonly grace: number
  readonly run: (signal: AbortSignal) => Promise<WorkerExit>
}

/** Listeners to what a worker does. */
export interface WorkListeners {
  /** Called with a report on each attempt that has ended. */
  readonly onStep: (step: AttemptReport) => void
  /** Called with steps during which a worker has died, soon after the start. Not called more than once with a step. */
  readonly onDeaths: (steps: readonly OpenStepInfo[]) => void
}

interface InsideOptions {
  readonly slots: number | undefined
  readonly relay: EventRelay
  readonly log: { readonly write: (text: string) => unknown } | undefined
  readonly onStep: WorkListeners['onStep'] | undefined
  readonly onDeaths: WorkListeners['onDeaths'] | undefined
}

/** Milliseconds between two looks for the steps of workers that have died, and for how long they are looked for: until `ttl` is over. */
const [look, longestLook] = [200, 15_000]

/** Reports the steps that an earlier process has left, once its death is recorded, which the new worker does. */
const reportDeaths = async (
  store: Store,
  worker: string,
  onDeaths: WorkListeners['onDeaths'],
  ended: AbortSignal,
): Promise<void> => {
  const reported = new Set<string>()
  const signal = AbortSignal.any([ended, AbortSignal.timeout(longestLook)])
  for await (const { steps } of store.workers({ every: look, signal })) {
    // The next attempt may have failed already. A step that a death has parked is reported as an attempt.
    const dead = steps.filter(
      ({ conversation, state, errors }) =>
        state !== 'parked' && !reported.has(conversation) && errors.some(isDeath),
    )
    for (const { conversation } of dead) reported.add(conversation)
    if (dead.length > 0) onDeaths(dead)
    if (steps.every(({ holder = worker, conversation }) => holder === worker || reported.has(conversation)))
      return
  }
}

/** Creates a worker with the agent of a module. Throws `AgentFailed`. */
export const workInside = async (
  store: Store,
  file: string,
  { slots, relay, log, ...listeners }: InsideOptions,
): Promise<Inside> => {
  const hasChanged = createChangeCheck(file)
  const agent = await loadAgent(file)
  const { onEvent, onStep, turn, grace = defaultGrace } = agent
  const worker = store.worker({
    ...agent,
    ...(slots !== undefined && { slots }),
    turn: (served) => {
      if (hasChanged()) log?.write(changedText(file))
      return turn(served)
    },
    onEvent: (served) => {
      relay.hear(worker.id, [served])
      onEvent?.(served)
    },
    onStep: (step) => {
      listeners.onStep?.(step)
      onStep?.(step)
    },
  })
  const says = (): void => relay.hear(worker.id, [])
  return {
    grace,
    run: async (signal) => {
      says()
      const ended = new AbortController()
      // A store that cannot be read is the worker's to report.
      if (listeners.onDeaths)
        void reportDeaths(store, worker.id, listeners.onDeaths, ended.signal).catch(() => {})
      const beats = setInterval(says, relayBeat)
      try {
        return await worker.run({ signal })
      } finally {
        clearInterval(beats)
        ended.abort()
      }
    },
  }
}
