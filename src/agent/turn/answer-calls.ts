import { staleContext } from '../../commands/rejections.ts'
import type { TurnLog, TurnsEnd } from '../../conversation/beside/turn-log.ts'
import type { Block } from '../../events/blocks.ts'
import { modelAborted, isLeftToOthers } from '../models/abort.ts'
import type { ModelAborted } from '../models/model.ts'
import { configurationOf, type Item } from '../../projections/effective.ts'
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
import type { OpenCall } from './calls/open-calls.ts'
import type { TurnActionOf } from './next-action.ts'
import { recordResults } from './record-messages.ts'
import { toolNames } from './results/tool-own-blocks.ts'
import { isCutOff, resultOf } from './results/tools.ts'
import type { TurnMeans } from './turn-means.ts'
import type { TurnOutcome, TurnState } from './turn-state.ts'

/** Maximum number of attempts at a decision while other writers append to the log of turns. */
const maxTries = 10

/**
 * Returns the end of the log of turns, first recording `TurnsBegun` if the log is empty: the origin of a reply with tool calls names the
 * log that records the starts of these calls.
 */
export const beginTurnLog = (log: TurnLog, at: number): Fallible<WriteError, TurnsEnd> =>
  despiteConflicts(async function* (): Fallible<WriteError, TurnsEnd> {
    const end = yield* log.end()
    if (end.begun !== undefined) return end
    return yield* log.append([{ type: 'TurnsBegun', data: { at } }], end.revision)
  })

/** Reports whether any of these calls was recorded as waiting, in this conversation or in one that it was forked from. */
export async function* haveWaited(log: TurnLog, open: readonly OpenCall[]): Fallible<ReadError, boolean> {
  const states = yield* statesOf(log, open)
  return open.some(({ use, call }) => {
    const { wait, above } = states.of(use, call.id)
    return (wait ?? above?.wait) !== undefined
  })
}

/** Runs or answers the open calls and records their results. If there are no results, the calls are left waiting. */
export async function* answerCalls(
  unanswered: TurnActionOf<'answer-calls'>,
  state: TurnState,
  means: TurnMeans,
): Fallible<WriteError | ReadError | ModelAborted, TurnOutcome> {
  const { now, open, deferred } = unanswered
  const { chat, claim, tell, watch } = means
  const planned = yield* plan(state, unanswered, means)
  const { run: tools, maxResult, emit, onEvent, toolTimeout: timeout } = state.settings
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
    return [await watchCall(call, { ...limits, onEnded: (run) => tell({ type: 'tool-ended', run }) }, work)]
  }
  const context = Math.max(...planned.map(({ use }) => use))
  const { result } = await watch.during({ context, seen: now.at, endedBy: ['rewind', 'lost'] }, (signal) =>
    Promise.all(planned.map((each) => finished(each, signal))),
  )
  // The outcome of aborted calls is unknown; the conversation's current holder answers them.
  if (claim.isLost()) return yield staleContext(chat.id, now.at, now.at)
  // The worker that continues the turn runs such a call again, or reports that its outcome is unknown.
  const isLeft = isLeftToOthers(watch.signal)
  const content = result.flat().filter((block) => !(isLeft && isCutOff(block)))
  if (isLeft && content.length === 0) return yield modelAborted(watch.signal)
  const use = open.at(-1)?.use ?? now.at
  if (content.length > 0) {
    yield* recordResults(means, state.settings, { now, content, deferred })
    return { type: 'calls-answered', use }
  }
  const left = (why: string): readonly WaitingCall[] =>
    planned.flatMap(({ call, task }) =>
      task.type === 'wait' && task.why === why ? [waitingCallOf(call, task.until, task.input)] : [],
    )
  const remaining = { asked: now, waiting: left('approval'), pending: left('handed-back') }
  return { type: 'calls-answered', use, left: remaining }
}

/** Decides what to do about each open call, and records the decisions before acting on them. */
const plan = (
  { ownCalls, settings }: TurnState,
  { now, open, deferred }: TurnActionOf<'answer-calls'>,
  { chat, claim, watch }: TurnMeans,
): Fallible<WriteError | ReadError, readonly PlannedCall[]> => {
  const { run: tools, waiting: { expires, keep } = {} } = settings
  const { turnLog: log } = chat
  /** Previous attempt, if it was repeated because of a concurrent write. */
  let before: { readonly revision: number; readonly planned: readonly PlannedCall[] } | undefined
  const lost = () => staleContext(chat.id, now.at, now.at)
  const applied = createInputParser()

  async function* circumstances(
    states: CallStates,
  ): Fallible<ReadError, Omit<CallConditions, 'signal' | 'applied'>> {
    const names = toolNames(configurationOf(now).tools)
    const starts = new Map(now.items.map((item) => [item.position, startsOf(item)]))
    const since = open.flatMap(({ use, call }) => states.of(use, call.id).wait?.data.at ?? [])
    const rewinds = since.length === 0 ? [] : yield* rewindsAfter(chat, Math.min(...since))
    const time = Date.now()
    return {
      tools,
      isDefined: (name) => names?.has(name) ?? false,
      recordsStarts: (reply) => states.begun.has(starts.get(reply) ?? ''),
      isRepeated: (reply, id) => open.filter(({ use, call }) => use === reply && call.id === id).length > 1,
      isWithdrawn: (state) => isWithdrawn(state, rewinds, time),
      said: deferred ? firstMessageSince(now, deferred.before) : Infinity,
      now: time,
      expires,
    }
  }

  async function* attempt(): Fallible<WriteError | ReadError, readonly PlannedCall[]> {
    if (before && claim.isTakenIn(yield* log.after(before.revision))) return yield lost()
    const mayBeElsewhere = before?.planned.some(({ task }) => task.type === 'run' && !task.isAgain) ?? false
    const isOwn = ownCalls && !before && open.every(({ use }) => use === ownCalls.reply)
    const states = isOwn ? noStates(ownCalls.end) : yield* statesOf(log, open)
    // Another holder has started these calls since, and will record their results.
    const isStartedHere = ({ use, call }: OpenCall): boolean => states.of(use, call.id).started !== undefined
    if (mayBeElsewhere && open.some(isStartedHere)) return yield lost()
    const known = yield* circumstances(states)
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
    const planFacts = factsOf(planned, keep === true, now.at)
    // Another holder has taken over the conversation and answers the calls.
    if (claim.isLost()) return yield lost()
    if (planFacts.length === 0 || watch.signal.aborted) return planned
    const facts = [...(yield* claim.along(now.at, states.end.revision)), ...planFacts]
    if (claim.isLost()) return yield lost()
    before = { revision: states.end.revision, planned }
    claim.recorded(facts, yield* log.append(facts, states.end.revision))
    return planned
  }
  return despiteConflicts(attempt, maxTries)
}

const startsOf = (item: Item): string | undefined =>
  item.kind === 'message' ? item.origin?.starts : undefined
