import { type Block, isBlock, textBlock } from '../../../events/blocks.ts'
import { freeze } from '../../../events/freeze.ts'
import { limitResults, restFor } from '../../context/policy/result-limit.ts'
import { orAborted } from '../../models/abort.ts'
import { errorText } from '../../models/error-text.ts'
import { errorName } from '../../telemetry/error-name.ts'
import { showsContent } from '../../telemetry/open-telemetry.ts'
import { inSpan } from '../../telemetry/spans.ts'
import { effectOf, type ToolSettings, type Tools } from '../../tools/settings.ts'
import type { ToolUse } from '../calls/open-calls.ts'
import type { ResolvedTurnOptions } from '../options.ts'
import type { ToolRun } from '../stream/turn-event.ts'
import type { ToolNames } from './tool-blocks.ts'
import { answerOf, textOf, type ToolAnswer } from './tool-output.ts'

interface ToolRunOptions {
  readonly settings: ResolvedTurnOptions
  readonly signal: AbortSignal
  readonly named: ToolNames
  readonly onEnded: (run: ToolRun) => void
}

export const toolOf = (tools: Tools, name: string): ToolSettings | undefined => {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
  return typeof tool === 'function' ? { run: tool } : tool
}

/** Message to the model about a call that was aborted before the tool was called. */
export const notBegun = 'The call was interrupted by the user before it began: it was not carried out.'
const ended = 'The call was interrupted by the user.'
const unknownEffect = 'It was cut off; whether it took effect is not known.'

/** Returns the message to the model about a call that ended early. If the tool has an effect, adds that it may have taken place. */
const cutOff = (tool: ToolSettings, how: string): string =>
  effectOf(tool) === 'none' ? how : `${how} ${unknownEffect}`

const endings = [notBegun, ended, `${ended} ${unknownEffect}`]

/** Reports whether a result says only that the call was aborted. */
export const isCutOff = ({ content }: Block): boolean =>
  typeof content === 'string' && endings.some((text) => content === text || content.endsWith(`\n\n${text}`))

/** Returns the result of a call that was not started. */
export const notRun = (call: ToolUse): Block =>
  failedResult(call, 'This call was not run: the reply was interrupted.')

const result = ({ id }: ToolUse, answer: ToolAnswer): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  ...answer,
})
export const failedResult = (call: ToolUse, content: string): Block =>
  result(call, { is_error: true, content })

/** Tool input that a person supplied in place of the model's input. */
export interface InputEdit {
  readonly by: string
  readonly input: object
}

/** Output of a schema for an input. */
export interface ParsedInput {
  readonly value: unknown
}

export const editNote = ({ by, input }: InputEdit): string =>
  `${by} has changed the input. The tool was run with ${JSON.stringify(input)}`

/** Adds a note about the edited input to the result, because the model's own call stays unchanged. */
const withInput = ({ content, ...answer }: ToolAnswer, edited: InputEdit): ToolAnswer => {
  const note = editNote(edited)
  if (content === undefined) return { ...answer, content: note }
  return {
    ...answer,
    content: typeof content === 'string' ? `${note}\n\n${content}` : [textBlock(note), ...content],
  }
}

/** Tool to run, with the edited or parsed input of the call. */
export interface ToolTask {
  readonly tool: ToolSettings
  readonly edited?: InputEdit
  /** Input produced by the tool's schema, if it has one. */
  readonly made?: ParsedInput
}

interface KeyedTask extends ToolTask {
  /** Key of the call: the same for every attempt, and different from the key of every other call. */
  readonly key: string
}

/** Returns the given result of a call, or that of its tool, and emits the result as it will be shown to the model. */
export const resultOf = async (
  call: ToolUse,
  answer: { readonly result: Block } | KeyedTask,
  options: ToolRunOptions,
): Promise<Block> => {
  const { id, name } = call
  const { emit, maxResult: bytes, run: tools } = options.settings
  const start = performance.now()
  // Frozen, because listeners receive the same blocks that are recorded.
  const block = freeze('result' in answer ? answer.result : await traced(call, answer, options))
  const ms = performance.now() - start
  const [shown = block] = limitResults([block], { bytes, rest: restFor(tools) }) ?? []
  const content = (isBlock(shown, 'tool_result') ? shown.content : undefined) ?? ''
  const isError = block['is_error'] === true
  options.onEnded({ call: id, tool: name, ms, isError })
  emit({ type: isError ? 'tool-failed' : 'tool-ended', call: id, tool: name, ms, content })
  return block
}

/** Runs a tool in a span that follows the GenAI conventions. */
const traced = (call: ToolUse, task: KeyedTask, options: ToolRunOptions): Promise<Block> =>
  inSpan(
    `execute_tool ${call.name}`,
    () => ({
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': call.name,
        'gen_ai.tool.call.id': call.id,
        'gen_ai.tool.type': 'function',
        ...(showsContent() && {
          'gen_ai.tool.call.arguments': textOf((task.edited ?? call).input ?? null),
        }),
      },
    }),
    async (span) => {
      const { block, why } = await ran(call, task, options)
      if (block['is_error'] === true) span?.failed(why ?? 'tool_error')
      if (showsContent()) span?.set({ 'gen_ai.tool.call.result': textOf(block['content'] ?? null) })
      return block
    },
  )

/** Runs a tool. `why` is the reason if the result is an error that the tool itself did not return. */
const ran = async (
  call: ToolUse,
  { tool, edited, made, key }: KeyedTask,
  { signal, named, settings: { toolTimeout, maxResult, onEvent, emit } }: ToolRunOptions,
): Promise<{ readonly block: Block; readonly why?: string }> => {
  const { id, name } = call
  const { input } = edited ?? call
  const failing = (text: string): Block =>
    failedResult(call, edited ? `${editNote(edited)}\n\n${text}` : text)
  const limit = tool.timeout ?? toolTimeout
  const time = new AbortController()
  const timer = setTimeout(() => time.abort(`It took longer than ${limit} ms and was given up.`), limit)
  const ends = AbortSignal.any([time.signal, signal])
  let isBegun = false
  try {
    ends.throwIfAborted()
    const progress = (text: string): void => {
      const event = { type: 'tool-progress', call: id, tool: name, text } as const
      emit(event)
      onEvent?.(event)
    }
    emit({ type: 'tool-started', call: id, tool: name, input })
    const context = { id, name, key, maxResult, signal: ends, progress }
    isBegun = true
    // A copy, because the tool may modify its input.
    const running = made
      ? tool.run(made.value, { ...context, checked: made.value })
      : tool.run(structuredClone(input), context)
    const output = await orAborted(running, ends)
    const answer = await answerOf(output, { signal: ends, tools: named })
    return { block: result(call, edited ? withInput(answer, edited) : answer) }
  } catch (error) {
    if (signal.aborted) return { block: failing(isBegun ? cutOff(tool, ended) : notBegun), why: 'aborted' }
    // A tool that reacts to its signal throws an error of its own, which the message about the time limit replaces.
    if (time.signal.aborted)
      return { block: failing(cutOff(tool, String(time.signal.reason))), why: 'timeout' }
    return { block: failing(errorText(error)), why: errorName(error) }
  } finally {
    clearTimeout(timer)
  }
}
