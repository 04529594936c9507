import { staleContext } from '../../commands/rejections.ts'
import type { TurnLog, TurnsEnd } from '../../conversation/beside/turn-log.ts'
import { modelAborted, isLeftToOthers } from '../models/abort.ts'
import type { ModelAborted } from '../models/model.ts'
import { configurationOf } from '../../projections/effective.ts'
import type { Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import { isWithdrawn, noStates, rewindsAfter, statesOf } from './calls/call-states.ts'
import type { CallConditions, PlannedCall } from './calls/calls.ts'
import { createInputParser, factsOf, taskFor, waitingCallOf } from './calls/calls.ts'
import { firstMessageSince } from './calls/deferred-messages.ts'
import type { OpenCall } from './calls/open-calls.ts'
import type { TurnActionOf } from './next-action.ts'
import { recordResults } from './record-messages.ts'
import { toolNames } from './results/tool-blocks.ts'
import { isCutOff, resultOf } from './results/tools.ts'
import type { ToolRun, WaitingCall } from './stream/turn-event.ts'
import type { TurnMeans } from './turn-means.ts'
import type { TurnOutcome, TurnState } from './turn-state.ts'

/** Maximum number of attempts at a decision while other writers append to the log of turns. */
const maxTries = 10

/** Returns the end of the log of turns, which it begins if it is empty: the origin of a reply with tool calls names the log. */
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
  const { settings } = state
  const planned = yield* plan(state, unanswered, means)
  const named = toolNames(configurationOf(now).tools)
  const finished = async ({ call, use, task }: PlannedCall, signal: AbortSignal) => {
    if (task.type === 'wait') return []
    const options = { settings, signal, named, onEnded: (run: ToolRun) => tell({ type: 'tool-ended', run }) }
    if (task.type === 'answer') return [await resultOf(call, task, options)]
    const permitted = task.onWait === undefined ? '' : `/${task.onWait}`
    const key = `${task.startedIn ?? chat.id}/${use}/${call.id}${permitted}`
    return [await resultOf(call, { ...task, key }, options)]
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
  const { run: tools, waiting: { expires, keep = false } = {} } = settings
  const { turnLog: log } = chat
  /** Previous attempt, if it was repeated because of a concurrent write. */
  let before: { readonly revision: number; readonly planned: readonly PlannedCall[] } | undefined
  const lost = () => staleContext(chat.id, now.at, now.at)
  const applied = createInputParser()
  const names = toolNames(configurationOf(now).tools)
  const starts = new Map(now.items.map((item) => [item.position, 'origin' in item && item.origin?.starts]))

  async function* attempt(): Fallible<WriteError | ReadError, readonly PlannedCall[]> {
    if (before && claim.isTakenIn(yield* log.after(before.revision))) return yield lost()
    const mayBeElsewhere = before?.planned.some(({ task }) => task.type === 'run' && !task.isAgain) ?? false
    const isOwn = ownCalls && !before && open.every(({ use }) => use === ownCalls.reply)
    const states = isOwn ? noStates(ownCalls.end) : yield* statesOf(log, open)
    const known = open.map((each) => ({ ...each, state: states.of(each.use, each.call.id) }))
    // Another holder has started these calls since, and will record their results.
    if (mayBeElsewhere && known.some(({ state }) => state.started)) return yield lost()
    const since = known.flatMap(({ state }) => state.wait?.data.at ?? [])
    const rewinds = since.length === 0 ? [] : yield* rewindsAfter(chat, Math.min(...since))
    const time = Date.now()
    const conditions: Omit<CallConditions, 'signal'> = {
      tools,
      isDefined: (name) => names?.has(name) ?? false,
      recordsStarts: (reply) => states.begun.has(starts.get(reply) || ''),
      isRepeated: (reply, id) => open.filter(({ use, call }) => use === reply && call.id === id).length > 1,
      isWithdrawn: (state) => isWithdrawn(state, rewinds, time),
      said: deferred ? firstMessageSince(now, deferred.before) : Infinity,
      now: time,
      expires,
      applied,
    }
    // The tool's own function, which may take a long time, decides whether a call needs approval.
    const work = { context: now.at, seen: now.at, endedBy: ['lost'] } as const
    const { result: planned } = await watch.during(work, (signal) =>
      Promise.all(
        known.map(async ({ state, ...each }) => ({
          ...each,
          task: await taskFor(each, state, { ...conditions, signal }),
        })),
      ),
    )
    const planFacts = factsOf(planned, keep, now.at)
    // Another holder has taken over the conversation and answers the calls.
    if (claim.isLost()) return yield lost()
    if (planFacts.length === 0 || watch.signal.aborted) return planned
    const { revision } = states.end
    const facts = [...(yield* claim.along(now.at, revision)), ...planFacts]
    if (claim.isLost()) return yield lost()
    before = { revision, planned }
    claim.recorded(facts, yield* log.append(facts, revision))
    return planned
  }
  return despiteConflicts(attempt, maxTries)
}
