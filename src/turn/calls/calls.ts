import * as E from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type { TurnFact } from '../../events/turn-events.ts'
import { isFields } from '../../events/json.ts'
import { orAborted } from '../../models/aborted.ts'
import { errorText } from '../../models/error-text.ts'
import { effectOf, needsApproval, type Tools, type ToolSettings } from '../../tools/settings.ts'
import type { CallState } from './call-states.ts'
import type { OpenCall } from './open-calls.ts'
import type { WaitingCall } from '../stream/turn-event.ts'
import { cutOff, type Edited, failed, toolOf, type ToolUse } from '../results/tools.ts'

/** What is to be done about a call without a result. */
export type Task =
  | {
      readonly type: 'run'
      readonly tool: ToolSettings
      readonly edited?: Edited
      readonly isAgain: boolean
      /** The conversation that this one was forked from, where it was started. */
      readonly startedIn?: string
    }
  | { readonly type: 'answer'; readonly result: Block }
  | {
      readonly type: 'wait'
      readonly why: 'approval' | 'handed-back'
      readonly isNew: boolean
      readonly until?: string | undefined
    }

/** What is known when it is decided what to do. */
export interface Circumstances {
  readonly tools: Tools
  /** Whether the request defines a client tool of this name. */
  readonly isDefined: (name: string) => boolean
  /** Whether the writer of the reply at this position records which of its calls were started. */
  readonly recordsStarts: (reply: number) => boolean
  /** Whether the reply at this position makes several open calls of this id. */
  readonly isRepeated: (reply: number, call: string) => boolean
  /** Whether the conversation has left the reply since that position. */
  readonly wasLeft: (reply: number, since: number) => boolean
  /** Position of what the user has said after the calls; Infinity if nothing. */
  readonly said: number
  /** Milliseconds since 1970. */
  readonly now: number
  /** Milliseconds after which an approval comes too late. */
  readonly expires: number | undefined
  /** Ends the asking whether a call needs an approval. */
  readonly signal: AbortSignal
}

const interrupted = 'This call was interrupted: whether it took effect is not known.'

/** Decides what to do about an open call. */
export const taskFor = async (
  { call, use }: OpenCall,
  state: CallState,
  { tools, isDefined, recordsStarts, isRepeated, wasLeft, said, now, expires, signal }: Circumstances,
): Promise<Task> => {
  const answer = (text: string): Task => ({ type: 'answer', result: failed(call, text) })
  const tool = toolOf(tools, call.name)
  const { startedIn } = state
  // What was left since in the other conversation does not matter: it was started.
  const isLeft = (at: number): boolean => startedIn === undefined && wasLeft(use, at)
  const wait = state.wait && !isLeft(state.wait.data.at) ? state.wait.data : undefined
  // Too late for what the user has said before it, unless that is no denial.
  const decided = wait && state.decision?.data
  const decision = decided && (wait.keep || decided.at < said) ? decided : undefined
  const isUnsafe = tool !== undefined && effectOf(tool) === 'unsafe'
  if (state.isStarted && (isUnsafe || !tool)) return answer(interrupted)
  const isApproved = decision?.decision === 'approved'
  if (decision?.decision === 'denied')
    return answer(`This call was denied by ${decision.by}${decision.reason ? `: ${decision.reason}` : '.'}`)
  if (said < Infinity && !wait?.keep && !isApproved)
    return answer(
      wait?.why === 'approval'
        ? 'This call was denied: the user said something else.'
        : 'This call has no result: the user said something else. Whether it took effect is not known.',
    )
  // Whoever it was handed back to may be at work on it.
  if (wait?.why === 'handed-back') return { type: 'wait', why: wait.why, isNew: false }
  if (!tool && !isDefined(call.name)) return answer(`There is no tool ${call.name}.`)
  if (!isFields(call.input))
    return answer(
      'The input is not a JSON object: it was cut off, or is malformed. Call again with all of it.',
    )
  if (!tool) return { type: 'wait', why: 'handed-back', isNew: true }
  if (!wait && !state.isStarted && !recordsStarts(use) && isUnsafe) return answer(interrupted)
  const run: Task = { type: 'run', tool, isAgain: state.isStarted, ...(startedIn && { startedIn }) }
  // One that has waited is asked about again once that wait was left.
  if (state.isStarted && !state.wait) return run
  if (isApproved) {
    const { by, input } = decision
    return input ? { ...run, edited: { by, input } } : run
  }
  if (!wait) {
    const asked = await isAsked(tool, call, signal)
    if (E.isLeft(asked)) return answer(asked.left)
    // Nobody could approve one of them, or change its input, without the others.
    if (asked.right && isRepeated(use, call.id))
      return answer(
        'Several calls of this reply have the same id, so nobody can approve one of them. Call again.',
      )
    const until = expires === undefined ? undefined : new Date(now + expires).toISOString()
    return asked.right ? { type: 'wait', why: 'approval', isNew: true, until } : run
  }
  return isOver(wait, now)
    ? answer('This call was denied: nobody approved it in time.')
    : { type: 'wait', why: 'approval', isNew: false, until: wait.until }
}

/** Whether the time for a decision is over. */
export const isOver = ({ until }: { readonly until?: string | undefined }, now: number): boolean =>
  until !== undefined && Date.parse(until) <= now

/** Whether the call needs an approval; left what the tool's own function has thrown: then the call is not run. */
const isAsked = async (
  tool: ToolSettings,
  { id, name, input }: ToolUse,
  signal: AbortSignal,
): Promise<E.Either<string, boolean>> => {
  try {
    const asked = needsApproval(tool, { id, name, input: structuredClone(input) })
    return E.right(await orAborted(asked, signal))
  } catch (error) {
    if (signal.aborted) return E.left(cutOff)
    return E.left(errorText(error))
  }
}

/** A call with what is to be done about it. */
export interface Planned extends OpenCall {
  readonly task: Task
}

/** How calls wait. */
export interface WaitOptions {
  /** Milliseconds after which an approval comes too late, and the call is denied. Default: never. */
  readonly expires?: number | undefined
  /** Whether calls still wait after the user has said something. Default false: that denies them. */
  readonly keep?: boolean | undefined
}

/** What has to be in the log of turns before any of it is done. */
export const factsOf = (planned: readonly Planned[], keep: boolean, at: number): readonly TurnFact[] => {
  const started = planned.flatMap(({ call, use, task }): readonly TurnFact[] => {
    if (task.type !== 'run' || task.isAgain) return []
    const effect = effectOf(task.tool)
    if (effect === 'none') return []
    return [{ type: 'ToolStarted', data: { reply: use, call: call.id, tool: call.name, effect, at } }]
  })
  const waits = planned.filter(({ task }) => task.type === 'wait' && task.isNew)
  const places = Map.groupBy(waits, ({ use, task }) => `${use} ${task.type === 'wait' && task.why}`)
  const waiting = [...places.values()].flatMap((calls): readonly TurnFact[] => {
    const [first] = calls
    if (first?.task.type !== 'wait') return []
    const { use: reply, task } = first
    const { why, until } = task
    const ids = calls.map(({ call }) => call.id)
    return [
      {
        type: 'CallsWaiting',
        data: { reply, calls: ids, why, ...(until && { until }), ...(keep && { keep }), at },
      },
    ]
  })
  return [...started, ...waiting]
}

/** A call as it is told to whoever decides. */
export const waitingCall = ({ id, name, input }: ToolUse, until?: string): WaitingCall => ({
  call: id,
  tool: name,
  input,
  ...(until !== undefined && { until }),
})
