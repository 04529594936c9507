import { isBlock } from '../../events/blocks.ts'
import { type ConversationEvent, messageOf } from '../../events/events.ts'
import { limitResults, restFor } from '../../agent/context/policy/result-limit.ts'
import { configurationOf, isReply } from '../../projections/effective.ts'
import { parent } from '../../projections/path.ts'
import { createInputParser, taskFor } from '../../agent/turn/calls/calls.ts'
import type { CallTask } from '../../agent/turn/calls/calls.ts'
import { isCall, type ToolUse } from '../../agent/turn/calls/open-calls.ts'
import { toolNames } from '../../agent/turn/results/tool-blocks.ts'
import { canonicalText } from '../canonical.ts'
import { type Divergence, excerpts } from './divergence.ts'
import type { RecordedHistory } from './recorded-history.ts'
import type { StepAt } from './steps.ts'

/**
 * Tool calls whose results are in a recorded message. `reply`: position of the reply that made the calls; `at`: position of the history
 * before the message.
 */
export interface AnsweredCalls {
  readonly at: number
  readonly reply: number
  readonly calls: readonly { readonly call: ToolUse; readonly result: string }[]
}

/** Returns the tool calls that a message answers; undefined if it contains no results for calls of the last reply. */
export const callsAnsweredBy = (
  { historyAt, log }: RecordedHistory,
  event: ConversationEvent,
): AnsweredCalls | undefined => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'user') return undefined
  const results = new Map(
    messageOf(event).content.flatMap((block) =>
      isBlock(block, 'tool_result') ? [[block.tool_use_id, canonicalText(block.content)] as const] : [],
    ),
  )
  if (results.size === 0) return undefined
  const at = parent(log, event.position)
  const reply = historyAt(at).items.findLast((item) => isReply(item))
  if (reply?.kind !== 'message') return undefined
  const calls = reply.content.filter(isCall).flatMap((call) => {
    const result = results.get(call.id)
    return result === undefined ? [] : [{ call, result }]
  })
  return calls.length === 0 ? undefined : { at, reply: reply.position, calls }
}

/**
 * Result of checking how calls were handled: the first difference, and the ids of calls for which the store has no record of waiting.
 */
export interface ResultCheck {
  readonly found?: Pick<Divergence, 'kind' | 'path' | 'agent' | 'log'>
  readonly unknown: readonly string[]
}

/**
 * Compares an agent's handling of calls with the recorded handling. Tools are never run; their recorded results are used. The tools'
 * `approve` functions are called.
 */
export const resultsChecked = async (
  { historyAt, log, waits }: RecordedHistory,
  { at, reply, calls }: AnsweredCalls,
  event: ConversationEvent,
  { settled }: StepAt,
): Promise<ResultCheck> => {
  const names = toolNames(configurationOf(historyAt(at)).tools)
  const unknown: string[] = []
  const { signal } = new AbortController()
  const applied = createInputParser()
  /** True if some results may come from outside the turn. */
  let isOutside = false
  for (const { call, result } of calls) {
    const task = await taskFor(
      { call, use: reply },
      {},
      {
        tools: settled.run,
        isDefined: (name) => names?.has(name) ?? false,
        recordsStarts: () => true,
        isRepeated: () => false,
        isWithdrawn: () => false,
        said: Infinity,
        now: 0,
        expires: undefined,
        applied,
        signal,
      },
    )
    const starts = startsOf(log[reply])
    const waited = waits.of(reply, call.id)
    const isKnown = waited !== undefined || waits.isKnown(starts)
    if (!isKnown && task.type !== 'answer') unknown.push(call.id)
    isOutside ||= task.type === 'wait'
    const differing = differs(task, call, result, isKnown ? (waited ?? 'run') : undefined)
    if (differing) return { found: { kind: 'tool', path: call.id, ...differing }, unknown }
  }
  const shown = isOutside ? undefined : shownOtherwise(event, settled)
  return { ...(shown && { found: { kind: 'result', ...shown } }), unknown }
}

const startsOf = (event: ConversationEvent | undefined): string | undefined =>
  event?.type === 'MessageAppended' ? event.data.origin?.starts : undefined

/**
 * Returns the difference between the agent's handling of a call and the recorded handling.
 *
 * @param was handling recorded by the turn; undefined if not recorded
 */
const differs = (
  task: CallTask,
  call: ToolUse,
  result: string,
  was: 'run' | 'approval' | 'handed-back' | undefined,
): Pick<Divergence, 'agent' | 'log'> | undefined => {
  const name = `${call.name} ${canonicalText(call.input)}`
  if (task.type === 'answer') {
    const text = canonicalText(task.result['content'])
    return text === result || isOfOthers(result) ? undefined : excerpts(text, result)
  }
  if (task.type === 'wait')
    return was === undefined || was === task.why
      ? undefined
      : { agent: waiting(task.why, name), log: done(was, name) }
  if (was === 'approval' || was === 'handed-back')
    return { agent: done('run', name), log: waiting(was, name) }
  return result === canonicalText(`There is no tool ${call.name}.`)
    ? { agent: done('run', name), log: result }
    : undefined
}

/** Reports whether a result came from people or an interrupted process instead of the agent. */
const isOfOthers = (result: string): boolean =>
  /^"(This call (was|has)|The call was interrupted|Several calls of this reply)/.test(result)

const cut = (text: string): string => (text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text)
const waiting = (why: 'approval' | 'handed-back', name: string): string =>
  cut(`${why === 'approval' ? 'waited for an approval of' : 'handed back'} ${name}`)
const done = (was: 'run' | 'approval' | 'handed-back', name: string): string =>
  was === 'run' ? cut(`ran ${name}`) : waiting(was, name)

/** Compares the shown length of large results with the length that the agent would show. */
const shownOtherwise = (
  event: ConversationEvent,
  { maxResult, run }: StepAt['settled'],
): Pick<Divergence, 'path' | 'agent' | 'log'> | undefined => {
  if (event.type !== 'MessageAppended') return undefined
  const limit = { bytes: maxResult, rest: restFor(run) }
  const { content: shown } = messageOf(event)
  const made = limitResults(shown, limit) ?? shown
  const index = made.findIndex((block, place) => canonicalText(block) !== canonicalText(shown[place]))
  return index < 0
    ? undefined
    : { path: `content[${index}]`, ...excerpts(canonicalText(made[index]), canonicalText(shown[index])) }
}
