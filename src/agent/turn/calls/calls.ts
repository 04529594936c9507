import * as E from 'fp-ts/lib/Either.js'
import type { Block } from '../../../events/blocks.ts'
import type { TurnFact } from '../../../events/turn-events.ts'
import { copyJson, type Fields, isFields } from '../../../events/json.ts'
import { orAborted } from '../../models/abort.ts'
import { errorText } from '../../models/error-text.ts'
import { effectOf, needsApproval, type Tools, type ToolSettings } from '../../tools/settings.ts'
import { type CallState, isOver, startOf } from './call-states.ts'
import type { OpenCall, ToolUse } from './open-calls.ts'
import type { WaitingCall } from '../stream/turn-event.ts'
import { toError } from '../../../result/typed-error.ts'
import {
  editNote,
  failedResult,
  notBegun,
  type ParsedInput,
  toolOf,
  type ToolTask,
} from '../results/tools.ts'

interface CallRun extends ToolTask {
  readonly type: 'run'
  /** True if the call was already started, under the same approval if it needs one. */
  readonly isAgain: boolean
  /** True if the call was approved. Its start is then recorded in any case, because an approval can be withdrawn until the start. */
  readonly isApproved?: true
  /** Ancestor of this conversation in which the call was started. */
  readonly startedIn?: string
  /** Revision of the wait, set only if the call had also been started before its approval. It distinguishes the two starts. */
  readonly onWait?: number
}

/** Task for an open call: run its tool, answer it, or leave it waiting. */
export type CallTask =
  | CallRun
  | { readonly type: 'answer'; readonly result: Block }
  | {
      readonly type: 'wait'
      readonly why: 'approval' | 'handed-back'
      readonly isNew: boolean
      readonly until?: string | undefined
      /** Input for the tool, if it differs from the model's input. */
      readonly input?: Fields | undefined
    }

/** Circumstances on which the decision about a call depends. */
export interface CallConditions {
  readonly tools: Tools
  /** Reports whether the request defines a client tool of this name. */
  readonly isDefined: (name: string) => boolean
  /** Reports whether the writer of the reply at this position records which of its calls were started. */
  readonly recordsStarts: (reply: number) => boolean
  /** Reports whether the reply at this position makes several open calls with this id. */
  readonly isRepeated: (reply: number, call: string) => boolean
  /** Reports whether a rewind has withdrawn the wait for a call. */
  readonly isWithdrawn: (state: CallState) => boolean
  /** Position of the first user message after the calls; Infinity if there is none. */
  readonly said: number
  /** Current time in milliseconds since 1970. */
  readonly now: number
  /** Milliseconds after which an approval comes too late. */
  readonly expires: number | undefined
  /** Applies a tool's schema to an input, once per input. */
  readonly applied: InputParser
  /** Signal that aborts the check of whether a call needs approval. */
  readonly signal: AbortSignal
}

const interrupted = 'This call was interrupted: whether it took effect is not known.'
const notHere = 'This call was not carried out here; it waits in the conversation this was forked from.'
const erasedInput = 'The input of this call was erased, so it was not carried out. Call again with all of it.'
const startedBefore = ' It had been started before that: whether it took effect then is not known.'

/** Decides what to do about an open call. */
export const taskFor = async (
  { call, use, isErased }: OpenCall,
  state: CallState,
  conditions: CallConditions,
): Promise<CallTask> => {
  const { tools, recordsStarts, isWithdrawn, said, now, expires, applied, signal } = conditions
  const answer = (text: string): CallTask => ({ type: 'answer', result: failedResult(call, text) })
  const { above } = state
  const anyStart = startOf(state) ?? above?.started
  const denied = (how: string): CallTask =>
    answer(`This call was denied${how}${anyStart ? startedBefore : ''}`)
  const tool = toolOf(tools, call.name)
  const isLeft = isWithdrawn(state)
  const wait = isLeft ? undefined : state.wait?.data
  /** True if the call was started under its current permission. */
  const isStarted = !isLeft && state.started !== undefined
  // A decision after a user message is too late, unless the wait continues despite such messages (`keep`).
  const decided = wait && state.decision?.data
  const decision = decided && (wait.keep || decided.at < said) ? decided : undefined
  const isUnsafe = tool !== undefined && effectOf(tool) === 'unsafe'
  if (isStarted && (isUnsafe || !tool)) return answer(interrupted)
  const isApproved = decision?.decision === 'approved'
  if (decision?.decision === 'denied')
    return denied(` by ${decision.by}${decision.reason ? `: ${decision.reason}` : '.'}`)
  /** True if the log shows that the call has not been started. */
  const isUntouched = !anyStart && recordsStarts(use)
  if (said < Infinity && !wait?.keep && !isApproved) {
    if (wait?.why === 'approval') return denied(': the user said something else.')
    if (!wait && above && isUntouched) return answer(notHere)
    return answer(
      'This call has no result: the user said something else. Whether it took effect is not known.',
    )
  }
  // The caller to which the call was handed back may be working on it.
  if (wait?.why === 'handed-back') return { type: 'wait', why: wait.why, isNew: false }
  if (state.wait?.data.why === 'handed-back') return { type: 'wait', why: 'handed-back', isNew: true }
  if (!wait && above?.wait?.data.why === 'handed-back' && !above.started) return answer(notHere)
  if (!tool && !conditions.isDefined(call.name)) return answer(`There is no tool ${call.name}.`)
  // Its empty input may be a valid one that means something else.
  if (isErased) return answer(`${erasedInput}${anyStart ? startedBefore : ''}`)
  if (!isFields(call.input))
    return answer(
      'The input is not a JSON object: it was cut off, or is malformed. Call again with all of it.',
    )
  if (!tool && !wait && above?.started) return answer(interrupted)
  if (!tool && !wait && above && isUntouched) return answer(notHere)
  if (!tool) return { type: 'wait', why: 'handed-back', isNew: true }
  const run: CallRun = { type: 'run', tool, isAgain: isStarted }
  const recorded = state.wait?.data.inputs?.[call.id]
  /** Returns a task that runs the call with the schema's output, or answers it with the error if the input is invalid. */
  const ready = async (how: CallRun): Promise<CallTask> => {
    const made = await applied(tool, how.edited?.input ?? call.input, signal)
    if (made && E.isLeft(made))
      return answer(`${how.edited ? `${editNote(how.edited)}\n\n` : ''}${made.left}`)
    return made ? { ...how, made: made.right } : how
  }
  // A started call that never waited is run again at once. A call whose wait was withdrawn needs approval again.
  if (isStarted && !state.wait) return await ready(run)
  if (isApproved) {
    const { by, input, wait: revision } = decision
    const onWait = state.earlier && { onWait: revision }
    const approved: CallRun = { ...run, isApproved: true, ...onWait, ...(input && { edited: { by, input } }) }
    // The input that was shown for approval.
    return recorded && !input
      ? { ...approved, made: { value: structuredClone(recorded) } }
      : await ready(approved)
  }
  if (wait)
    return isOver(wait, now)
      ? denied(': nobody approved it in time.')
      : { type: 'wait', why: 'approval', isNew: false, until: wait.until, input: recorded }
  // The reply was imported, or dates from before starts were recorded: the call may have been started.
  if (isUnsafe && !recordsStarts(use) && !state.wait && !above?.wait && !above?.started)
    return answer(interrupted)
  const made = await applied(tool, call.input, signal)
  // A call with invalid input is refused in any case, so it needs no approval.
  if (made && E.isLeft(made)) return answer(made.left)
  const asked = await isAsked(tool, call, made?.right, signal)
  if (E.isLeft(asked)) return answer(asked.left)
  if (!asked.right) {
    if (isUnsafe && anyStart) return answer(interrupted)
    if (isUnsafe && above) return answer(notHere)
    // A call that was started in an ancestor keeps the key of that start.
    const how = made ? { ...run, made: made.right } : run
    return above?.started ? { ...how, isAgain: true, startedIn: above.conversation } : how
  }
  // Calls with the same id cannot be approved, or have their inputs edited, individually.
  if (conditions.isRepeated(use, call.id))
    return answer(
      'Several calls of this reply have the same id, so nobody can approve one of them. Call again.',
    )
  const until = expires === undefined ? undefined : new Date(now + expires).toISOString()
  return { type: 'wait', why: 'approval', isNew: true, until, input: made && shownOf(made.right.value, call) }
}

/** Applies a tool's schema, if it has one, to an input. Returns the output, or the error text if the input is invalid. */
export type InputParser = (
  tool: ToolSettings,
  input: unknown,
  signal: AbortSignal,
) => Promise<E.Either<string, ParsedInput> | undefined>

/** Returns a parser that applies the tools' schemas only once to each input. */
export const createInputParser = (): InputParser => {
  const known = new Map<unknown, ReturnType<InputParser>>()
  const apply: InputParser = async ({ check }, input, signal) => {
    if (!check) return undefined
    try {
      // A copy, because the output of a schema may contain parts of its input, which the tool may modify.
      const made = await orAborted(check(structuredClone(input)), signal)
      return E.isLeft(made) ? E.left(errorText(toError(made.left))) : E.right({ value: made.right })
    } catch (error) {
      return E.left(signal.aborted ? notBegun : errorText(error))
    }
  }
  return (tool, input, signal) => {
    const made = known.get(input) ?? apply(tool, input, signal)
    known.set(input, made)
    return made
  }
}

/** Maximum size of a schema output, in characters of JSON, that is recorded in addition to the model's input. */
const longestInput = 1_048_576

/** Returns the schema's output to record; undefined if it equals the model's input, is not a JSON object, or is too long. */
const shownOf = (made: unknown, { input }: ToolUse): Fields | undefined => {
  const copied = copyJson(made)
  if (E.isLeft(copied) || !isFields(copied.right)) return undefined
  const text = JSON.stringify(copied.right)
  return text === JSON.stringify(input) || text.length > longestInput ? undefined : copied.right
}

/** Reports whether the call needs approval. If the tool's own function throws, returns the error text as Left; the call is not run. */
const isAsked = async (
  tool: ToolSettings,
  { id, name, input }: ToolUse,
  made: ParsedInput | undefined,
  signal: AbortSignal,
): Promise<E.Either<string, boolean>> => {
  try {
    const given = made ? { input: made.value, checked: made.value } : { input: structuredClone(input) }
    return E.right(await orAborted(needsApproval(tool, { id, name, ...given }), signal))
  } catch (error) {
    return E.left(signal.aborted ? notBegun : errorText(error))
  }
}

export interface PlannedCall extends OpenCall {
  readonly task: CallTask
}

/** Returns the facts to record in the log of turns before acting on the plan. */
export const factsOf = (planned: readonly PlannedCall[], keep: boolean, at: number): readonly TurnFact[] => {
  const started = planned.flatMap(({ call, use, task }): readonly TurnFact[] => {
    if (task.type !== 'run' || task.isAgain) return []
    const given = effectOf(task.tool)
    if (given === 'none' && !task.isApproved) return []
    const effect = given === 'none' ? 'idempotent' : given
    return [{ type: 'ToolStarted', data: { reply: use, call: call.id, tool: call.name, effect, at } }]
  })
  const waits = planned.flatMap(({ call, use: reply, task }) =>
    task.type === 'wait' && task.isNew ? [{ ...task, id: call.id, reply }] : [],
  )
  const places = Map.groupBy(waits, ({ reply, why }) => `${reply} ${why}`)
  const waiting = [...places.values()].flatMap((calls): readonly TurnFact[] => {
    const [first] = calls
    if (!first) return []
    const { reply, why, until } = first
    const ids = calls.map(({ id }) => id)
    const inputs = Object.fromEntries(calls.flatMap(({ id, input }) => (input ? [[id, input]] : [])))
    const options = { ...(until && { until }), ...(keep && { keep }) }
    const edited = Object.keys(inputs).length > 0 && { inputs }
    return [{ type: 'CallsWaiting', data: { reply, calls: ids, why, ...options, ...edited, at } }]
  })
  return [...started, ...waiting]
}

/** Describes a call to the person who decides about it. */
export const waitingCallOf = ({ id, name, input }: ToolUse, until?: string, made?: Fields): WaitingCall => ({
  call: id,
  tool: name,
  input: made ?? input,
  ...(until !== undefined && { until }),
})
