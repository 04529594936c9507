import type { RecordedEvent } from '../store/port.ts'
import { type Carried, type CarriedStep, carriedStep, type CarriedWorker, restoredStep } from './carried.ts'
import { bereaved, evolved, type OpenStep } from './open-step.ts'
import { conversationIn, mayAsk, seenEvent, seenWorker } from './seen.ts'

/** A worker as its observers know it. */
export interface KnownWorker extends Omit<CarriedWorker, 'worker'> {
  /** When anything was last received from it, by the observer's own clock. */
  readonly heardAt: number
}

/** What an observer of the streams knows: a fold over their events, and when it received them. */
export interface Known {
  readonly steps: ReadonlyMap<string, OpenStep>
  readonly workers: ReadonlyMap<string, KnownWorker>
  /** The last revision of the stream of a conversation's turns; undefined if nothing of it was received. */
  readonly turnsAt: (conversation: string) => number | undefined
  /** How many claims there were. */
  readonly claims: () => number
  /** Takes in the next event of the store. */
  readonly see: (event: RecordedEvent, now: number) => void
  /** What was not received meanwhile was lost on the way: every worker is given its whole time again. */
  readonly reconnected: (now: number) => void
  /** Forgets workers that nothing was heard of since then and that hold nothing. */
  readonly forget: (since: number) => void
  /** What is known now, for an observer that begins after the last event. */
  readonly carried: () => Carried
  /** Begins with what was carried, instead of all events before it. */
  readonly restore: (carried: Carried, now: number) => void
}

/** @param serves whether a conversation matters */
export const knownBy = (serves: (conversation: string) => boolean): Known => {
  const steps = new Map<string, OpenStep>()
  const workers = new Map<string, KnownWorker>()
  const turns = new Map<string, number>()
  let claims = 0
  /** A conversation whose model has finished, if the write that said so says no more. */
  let over: string | undefined

  const claimed = (worker: string, heard: string, now: number): void => {
    claims++
    workers.set(worker, { ...workers.get(worker), heard, heardAt: now })
  }

  const seeWorker = (event: RecordedEvent, now: number): void => {
    const seen = seenWorker(event)
    if (!seen) return
    const { worker, isStopped, slots, time } = seen
    if (!isStopped) return void workers.set(worker, { slots, heard: time, heardAt: now })
    workers.delete(worker)
    for (const [conversation, step] of steps)
      if (step.holder === worker) steps.set(conversation, bereaved(conversation, step, now))
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
    if (seen.what.type === 'TurnClaimed') claimed(seen.what.data.worker, seen.time, now)
  }

  const restoreStep = ({ conversation, turnsAt, ...step }: CarriedStep, now: number): void => {
    steps.set(conversation, restoredStep(step, now))
    if (turnsAt !== undefined) turns.set(conversation, turnsAt)
    if (step.stage === 'over') over = conversation
  }

  return {
    steps,
    workers,
    turnsAt: (conversation) => turns.get(conversation),
    claims: () => claims,
    see: (event, now) => {
      const conversation = conversationIn(event.stream)
      if (conversation === undefined) seeWorker(event, now)
      else if (serves(conversation)) seeConversation(conversation, event, now)
    },
    reconnected: (now) => {
      for (const [worker, known] of workers) workers.set(worker, { ...known, heardAt: now })
    },
    forget: (since) => {
      const holders = new Set([...steps.values()].map(({ holder }) => holder))
      for (const [worker, { heardAt }] of workers)
        if (heardAt < since && !holders.has(worker)) workers.delete(worker)
    },
    carried: () => ({
      steps: [...steps]
        .toSorted(([, one], [, other]) => one.freeAt - other.freeAt)
        .map(([conversation, step]) => carriedStep(conversation, step, turns.get(conversation))),
      workers: [...workers].map(([worker, { heard, slots }]) => ({ worker, heard, slots })),
      claims,
    }),
    restore: (carried, now) => {
      claims = carried.claims
      for (const { worker, ...its } of carried.workers) workers.set(worker, { ...its, heardAt: now })
      for (const step of carried.steps) if (serves(step.conversation)) restoreStep(step, now)
    },
  }
}
