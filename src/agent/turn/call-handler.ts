import { staleContext } from '../../commands/rejections.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { TurnsEnd } from '../../conversation/beside/turn-log.ts'
import type { Block } from '../../events/blocks.ts'
import { modelAborted, isLeftToOthers } from '../models/abort.ts'
import type { ModelAborted } from '../models/model.ts'
import { configurationOf, type Effective, type Item } from '../../projections/effective.ts'
import type { Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import { type CallStates, isWithdrawn, noStates, statesOf } from './calls/call-states.ts'
import { rewindsAfter, firstMessageSince } from './calls/calls-now.ts'
import {
  createInputParser,
  type CallConditions,
  factsOf,
  type PlannedCall,
  taskFor,
  waitingCallOf,
} from './calls/calls.ts'
import type { WaitingCall } from './stream/turn-event.ts'
import { watchCall } from './results/watch-call.ts'
import { restFor } from '../context/policy/result-limit.ts'
import type { TurnClaim } from './claims/turn-claim.ts'
import type { DeferredMessages } from './calls/deferred-messages.ts'
import type { TurnRecorder } from './turn-recorder.ts'
import type { OpenCall } from './calls/open-calls.ts'
import type { WatchedTurnOptions } from './options.ts'
import { toolNames } from './results/tool-own-blocks.ts'
import { isCutOff, resultOf } from './results/tools.ts'

/** Open calls of a reply for which the turn can do nothing more at present. */
export interface RemainingCalls {
  /** Calls that wait for approval. */
  readonly waiting: readonly WaitingCall[]
  /** Calls of tools without a function in this program: their results must come from outside. */
  readonly pending: readonly WaitingCall[]
}

/** Open calls of a history, and the user messages that follow them. */
export interface UnansweredCalls {
  readonly open: readonly OpenCall[]
  readonly held?: DeferredMessages | undefined
}

/** Maximum number of attempts at a decision while other writers append to the log of turns. */
const maxTries = 10

/** Handles the tool calls of replies: runs them, answers them, or leaves them waiting. */
export const createCallHandler = (
  chat: ConversationHandle,
  landing: TurnRecorder,
  current: () => WatchedTurnOptions,
  hold: TurnClaim,
) => {
  const log = chat.turnLog
  /** Last reply of this turn, and the end of the log of turns at the time the reply was recorded. */
  let own: { readonly reply: number; readonly end: TurnsEnd } | undefined

  /**
   * Returns the end of the log of turns, first recording `TurnsBegun` if the log is empty: the origin of a reply with tool calls names
   * the log that records the starts of these calls.
   */
  const begun = (at: number): Fallible<WriteError, TurnsEnd> =>
    despiteConflicts(async function* (): Fallible<WriteError, TurnsEnd> {
      const end = yield* log.end()
      if (end.begun !== undefined) return end
      return yield* log.append([{ type: 'TurnsBegun', data: { at } }], end.revision)
    })

  async function* circumstances(
    now: Effective,
    { open, held }: UnansweredCalls,
    states: CallStates,
  ): Fallible<ReadError, Omit<CallConditions, 'signal' | 'applied'>> {
    const names = toolNames(configurationOf(now).tools)
    const starts = new Map(now.items.map((item) => [item.position, startsOf(item)]))
    const since = open.flatMap(({ use, call }) => states.of(use, call.id).wait?.data.at ?? [])
    const rewinds = since.length === 0 ? [] : yield* rewindsAfter(chat, Math.min(...since))
    const { run: tools, waiting: { expires } = {} } = current()
    const time = Date.now()
    return {
      tools,
      isDefined: (name) => names?.has(name) ?? false,
      recordsStarts: (reply) => states.begun.has(starts.get(reply) ?? ''),
      isRepeated: (reply, id) => open.filter(({ use, call }) => use === reply && call.id === id).length > 1,
      isWithdrawn: (state) => isWithdrawn(state, rewinds, time),
      said: held ? firstMessageSince(now, held.before) : Infinity,
      now: time,
      expires,
    }
  }

  /** Decides what to do about each open call, and records the decisions before acting on them. */
  const plan = (
    now: Effective,
    unanswered: UnansweredCalls,
  ): Fallible<WriteError | ReadError, readonly PlannedCall[]> => {
    const { open } = unanswered
    const { waiting: waits = {}, signal, watch } = current()
    /** Previous attempt, if it was repeated because of a concurrent write. */
    let before: { readonly revision: number; readonly planned: readonly PlannedCall[] } | undefined
    const lost = () => staleContext(chat.id, now.at, now.at)
    const applied = createInputParser()
    async function* attempt(): Fallible<WriteError | ReadError, readonly PlannedCall[]> {
      if (before && hold.isTakenIn(yield* log.after(before.revision))) return yield lost()
      const mayBeElsewhere = before?.planned.some(({ task }) => task.type === 'run' && !task.isAgain) ?? false
      const states =
        own && open.every(({ use }) => use === own?.reply) ? noStates(own.end) : yield* statesOf(log, open)
      own = undefined
      // Another holder has started these calls since, and will record their results.
      const isStartedHere = ({ use, call }: OpenCall): boolean =>
        states.of(use, call.id).started !== undefined
      if (mayBeElsewhere && open.some(isStartedHere)) return yield lost()
      const known = yield* circumstances(now, unanswered, states)
      const planAll = (ends: AbortSignal): Promise<readonly PlannedCall[]> =>
        Promise.all(
          open.map(async (each) => ({
            ...each,
            task: await taskFor(each, states.of(each.use, each.call.id), { ...known, applied, signal: ends }),
          })),
        )
      // The tool's own function, which may take a long time, decides whether a call needs approval.
      const { result: planned } = await watch.during(
        { context: now.at, seen: now.at, endedBy: ['lost'] },
        planAll,
      )
      const planFacts = factsOf(planned, waits.keep === true, now.at)
      // Another holder has taken over the conversation and answers the calls.
      if (hold.isLost()) return yield lost()
      if (planFacts.length === 0 || signal?.aborted) return planned
      const facts = [...(yield* hold.along(now.at, states.end.revision)), ...planFacts]
      if (hold.isLost()) return yield lost()
      before = { revision: states.end.revision, planned }
      hold.recorded(facts, yield* log.append(facts, states.end.revision))
      return planned
    }
    return despiteConflicts(attempt, maxTries)
  }

  /**
   * Carries out the tasks of the open calls, and records the results.
   *
   * @returns the remaining calls, or undefined if results were recorded, in which case more may be left to do
   */
  async function* answer(
    now: Effective,
    unanswered: UnansweredCalls,
  ): Fallible<WriteError | ReadError | ModelAborted, RemainingCalls | undefined> {
    const planned = yield* plan(now, unanswered)
    const { run: tools, maxResult, emit, onEvent, toolTimeout: timeout, watch } = current()
    const named = toolNames(configurationOf(now).tools)
    const limits = { timeout, maxResult, named, rest: restFor(tools), onEvent, emit }
    const finished = async (
      { call, use, task }: PlannedCall,
      signal: AbortSignal,
    ): Promise<readonly Block[]> => {
      if (task.type === 'wait') return []
      const work = async () => {
        if (task.type === 'answer') return task.result
        const permitted = task.onWait === undefined ? '' : `/${task.onWait}`
        const key = `${task.startedIn ?? chat.id}/${use}/${call.id}${permitted}`
        return resultOf(call, { ...task, key }, { ...limits, signal })
      }
      return [await watchCall(call, limits, work)]
    }
    const context = Math.max(...planned.map(({ use }) => use))
    const { result } = await watch.during({ context, seen: now.at, endedBy: ['rewind', 'lost'] }, (signal) =>
      Promise.all(planned.map((each) => finished(each, signal))),
    )
    // The outcome of aborted calls is unknown; the conversation's current holder answers them.
    if (hold.isLost()) return yield staleContext(chat.id, now.at, now.at)
    const { signal } = current()
    // The worker that continues the turn runs such a call again, or reports that its outcome is unknown.
    const isLeft = isLeftToOthers(signal)
    const content = result.flat().filter((block) => !(isLeft && isCutOff(block)))
    if (signal && isLeft && content.length === 0) return yield modelAborted(signal)
    if (content.length > 0) {
      yield* landing.record(now, content, unanswered.held)
      return undefined
    }
    const left = (why: string): readonly WaitingCall[] =>
      planned.flatMap(({ call, task }) =>
        task.type === 'wait' && task.why === why ? [waitingCallOf(call, task.until, task.input)] : [],
      )
    return { waiting: left('approval'), pending: left('handed-back') }
  }

  /** Reports whether any of these calls was recorded as waiting, in this conversation or in one that it was forked from. */
  async function* haveWaited(open: readonly OpenCall[]): Fallible<ReadError, boolean> {
    if (open.length === 0) return false
    const states = yield* statesOf(log, open)
    return open.some(({ use, call }) => {
      const { wait, above } = states.of(use, call.id)
      return (wait ?? above?.wait) !== undefined
    })
  }

  return {
    begun,
    answer,
    haveWaited,
    /**
     * Remembers a reply recorded by this turn, and `end`, the end of the log of turns at that time. Facts about the reply's calls can
     * only come after `end`.
     */
    landed: (reply: number, end: TurnsEnd): void => {
      own = { reply, end }
    },
  }
}

export type CallAnswerer = ReturnType<typeof createCallHandler>

const startsOf = (item: Item): string | undefined =>
  item.kind === 'message' ? item.origin?.starts : undefined
