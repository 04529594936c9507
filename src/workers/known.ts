import type { RecordedEvent } from '../store/port.ts'
import { bereaved, evolved, type OpenStep } from './open-step.ts'
import { conversationIn, mayAsk, seenEvent, seenWorker } from './seen.ts'

/** A worker as its observers know it. */
export interface KnownWorker {
  /** When anything was last received from it, by the observer's own clock. */
  readonly heardAt: number
  /** How many more steps it can take. */
  readonly free: number
  readonly isStopped: boolean
}

/** What an observer of the streams knows: a fold over their events, and when it received them. */
export interface Known {
  readonly steps: ReadonlyMap<string, OpenStep>
  readonly workers: ReadonlyMap<string, KnownWorker>
  /** The last revision of the stream of a conversation's turns; -1 if nothing of it was received. */
  readonly turnsAt: (conversation: string) => number
  /** Takes in the next event of the store. */
  readonly see: (event: RecordedEvent, now: number) => void
  /** What was not received meanwhile was lost on the way: every worker is given its whole time again. */
  readonly reconnected: (now: number) => void
}

/** @param serves whether a conversation matters */
export const knownBy = (serves: (conversation: string) => boolean): Known => {
  const steps = new Map<string, OpenStep>()
  const workers = new Map<string, KnownWorker>()
  const turns = new Map<string, number>()
  /** A conversation whose model has finished, if the write that said so says no more. */
  let over: string | undefined

  const heard = (worker: string, now: number): void => {
    const { free = 0 } = workers.get(worker) ?? {}
    workers.set(worker, { free, isStopped: false, heardAt: now })
  }

  const seeWorker = (event: RecordedEvent, now: number): void => {
    const seen = seenWorker(event)
    if (!seen) return
    const { worker, isStopped, free } = seen
    if (isStopped) workers.delete(worker)
    else workers.set(worker, { free, isStopped, heardAt: now })
    if (!isStopped) return
    for (const [conversation, step] of steps)
      if (step.holder === worker) steps.set(conversation, bereaved(step, now))
  }

  const seeConversation = (conversation: string, event: RecordedEvent, now: number): void => {
    if (event.stream.startsWith('turns-')) turns.set(conversation, event.revision)
    const before = steps.get(conversation)
    if (!before && !mayAsk(event)) return
    const seen = seenEvent(conversation, event)
    const step = evolved(before, seen, now)
    if (over !== undefined && over !== conversation) steps.delete(over)
    over = step?.stage === 'over' ? conversation : undefined
    if (step) steps.set(conversation, step)
    else steps.delete(conversation)
    if (seen.what.type === 'TurnClaimed') heard(seen.what.data.worker, now)
  }

  return {
    steps,
    workers,
    turnsAt: (conversation) => turns.get(conversation) ?? -1,
    see: (event, now) => {
      const conversation = conversationIn(event.stream)
      if (conversation === undefined) seeWorker(event, now)
      else if (serves(conversation)) seeConversation(conversation, event, now)
    },
    reconnected: (now) => {
      for (const [worker, known] of workers) workers.set(worker, { ...known, heardAt: now })
    },
  }
}
