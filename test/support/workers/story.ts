import type { AnswerFlag, Origin } from '../../../src/events/events.ts'
import type { RecordedEvent } from '../../../src/store/port.ts'
import { type WorkBoard, createWorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { type PickingWorker, type PickResult, pick } from '../../../src/agent/workers/choosing/pick.ts'
import type { WorkPolicy } from '../../../src/agent/workers/choosing/policy.ts'

/** When stories begin. */
export const noon = Date.parse('2026-01-31T12:00:00.000Z')

/** What happened to workers and conversations, as the events that one of them receives, and what it would do. Times in milliseconds. */
export interface Story {
  readonly known: WorkBoard
  readonly ask: (conversation: string, answer?: AnswerFlag) => void
  /** Something is said into the inbox. */
  readonly queue: (conversation: string, answer?: AnswerFlag) => void
  readonly claim: (conversation: string, worker: string, attempt?: number) => void
  /** A tool has answered. */
  readonly goOn: (conversation: string) => void
  /** The model has finished. */
  readonly reply: (conversation: string, origin?: Origin) => void
  readonly release: (conversation: string, worker: string, reason: 'free' | 'failed') => void
  readonly pause: (conversation: string) => void
  readonly resume: (conversation: string) => void
  readonly beat: (worker: string, busy?: number) => void
  /** A beat of one that stands by. */
  readonly standBy: (worker: string) => void
  readonly stopped: (worker: string) => void
  readonly pauseWorker: (worker: string) => void
  readonly pass: (ms: number) => void
  readonly now: () => number
  /** @param taking conversations whose steps the worker has, or is taking. Default: those that it is known to have */
  readonly look: (worker?: string, taking?: ReadonlySet<string>) => PickResult
  readonly picked: (
    worker?: string,
    taking?: ReadonlySet<string>,
    me?: Partial<PickingWorker>,
  ) => string | undefined
  readonly lookIn: () => number
  /** The worker that looks. */
  readonly who: () => PickingWorker
  /** What a worker would do if it knew of no other conversation. */
  readonly pickFor: (conversation: string, me?: Partial<PickingWorker>) => PickResult
}

export const story = ({
  policy,
  slots = 1,
}: { readonly policy?: WorkPolicy; readonly slots?: number } = {}): Story => {
  const known = createWorkBoard(() => true, policy)
  const revisions = new Map<string, number>()
  let now = 0
  let count = 0
  const record = (stream: string, type: string, data: object, more: object = {}): void => {
    const revision = (revisions.get(stream) ?? -1) + 1
    revisions.set(stream, revision)
    const time = new Date(noon + now).toISOString()
    const metadata = JSON.stringify({ commandId: `c${count++}`, time, ...more })
    const event: RecordedEvent = {
      id: `e${count}`,
      stream,
      revision,
      checkpoint: String(count),
      type,
      data: JSON.stringify(data),
      metadata,
    }
    known.see(event, now)
  }
  const attemptOf = (conversation: string) => {
    const { name: step, attempt = 1 } = known.steps.get(conversation) ?? {}
    return { step, attempt }
  }
  const heldBy = (worker: string): ReadonlySet<string> =>
    new Set([...known.steps].flatMap(([id, { holder }]) => (holder === worker ? [id] : [])))
  const who = (worker = 'me', taking = heldBy(worker)): PickingWorker => ({
    worker,
    ttl: 10_000,
    rankWait: 25,
    tardy: new Map(),
    isBusyWith: (id) => taking.has(id),
    taking: () => taking,
    time: () => noon + now,
  })
  const look: Story['look'] = (worker, taking) => pick(known, who(worker, taking), now)
  return {
    known,
    ask: (conversation, answer = true) =>
      record(`conversation-${conversation}`, 'MessageAppended', { role: 'user', content: [] }, { answer }),
    queue: (conversation, answer = true) => record(`inbox-${conversation}`, 'Queued', {}, { answer }),
    claim: (conversation, worker, attempt = attemptOf(conversation).attempt) =>
      record(`turns-${conversation}`, 'TurnClaimed', { ...attemptOf(conversation), attempt, worker }),
    goOn: (conversation) =>
      record(`conversation-${conversation}`, 'MessageAppended', { role: 'user', content: [] }),
    reply: (conversation, origin = {}) =>
      record(`conversation-${conversation}`, 'MessageAppended', { role: 'assistant', content: [], origin }),
    release: (conversation, worker, reason) => {
      const { step } = attemptOf(conversation)
      record(`turns-${conversation}`, 'TurnReleased', { step, worker, reason })
    },
    pause: (conversation) => record(`turns-${conversation}`, 'TurnsPaused', { by: 'ann' }),
    resume: (conversation) => record(`turns-${conversation}`, 'TurnsResumed', { by: 'ann' }),
    beat: (worker, busy = 0) => record(`worker-${worker}`, 'WorkerBeat', { slots, busy }),
    standBy: (worker) => record(`worker-${worker}`, 'WorkerBeat', { slots: 0, busy: 0, standby: true }),
    stopped: (worker) => record(`worker-${worker}`, 'WorkerStopped', {}),
    pauseWorker: (worker) => record(`worker-${worker}`, 'WorkerPaused', { by: 'ann' }),
    pass: (ms) => {
      now += ms
    },
    now: () => now,
    look,
    picked: (worker, taking, me) => pick(known, { ...who(worker, taking), ...me }, now).conversation,
    lookIn: () => look().lookAt - now,
    who: () => who(),
    pickFor: (conversation, me) =>
      pick(known, { ...who(), isBusyWith: (other) => other !== conversation, ...me }, now),
  }
}
