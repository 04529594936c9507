import { type Block, type KnownBlock, textBlock } from '../../../events/blocks.ts'
import { orAborted } from '../../models/abort.ts'
import type { CallOptions } from '../../models/model.ts'
import type { ResultLimit } from '../../context/policy/result-limit.ts'
import { effectOf, type ToolSettings, type Tools } from '../../tools/settings.ts'
import { answerOf, type ToolAnswer } from './tool-output.ts'
import type { Emit } from '../stream/turn-event.ts'
import { errorText } from '../../models/error-text.ts'
import { errorName } from '../../telemetry/error-name.ts'
import type { ToolNames } from './tool-own-blocks.ts'
import { type Ran, traceTool } from './trace-tool.ts'

export type ToolUse = KnownBlock<'tool_use'>

export interface ToolRunOptions {
  readonly signal: AbortSignal | undefined
  /** Time limit in milliseconds for a call to a tool that does not set one. */
  readonly timeout: number
  /** Maximum size, in bytes, of a result that is shown to the model in full. */
  readonly maxResult: number
  readonly named: ToolNames
  /** Availability of the omitted part of a long result, as stated to the model. */
  readonly rest: ResultLimit['rest']
  /** Called with the progress of a call. */
  readonly onEvent: CallOptions['onEvent']
  readonly emit: Emit
}

export const toolOf = (tools: Tools, name: string): ToolSettings | undefined => {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
  return typeof tool === 'function' ? { run: tool } : tool
}

/** Message to the model about a call that was aborted before the tool was called. */
export const notBegun = 'The call was interrupted by the user before it began: it was not carried out.'
const ended = 'The call was interrupted by the user.'
const unknownEffect = 'It was cut off; whether it took effect is not known.'

/**
 * Returns the message to the model about a call that ended early. Unless the tool has no effect, the message adds that the call may
 * have taken effect.
 */
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

/** Tool to run, with the call's key and its edited or parsed input. */
interface Running {
  readonly tool: ToolSettings
  readonly edited?: InputEdit
  readonly made?: ParsedInput
  /** Key of the call: the same for every attempt, and different from the key of every other call. */
  readonly key: string
}

/** Runs a tool and returns its result. */
export const resultOf = (call: ToolUse, running: Running, limits: ToolRunOptions): Promise<Block> =>
  traceTool(call, (running.edited ?? call).input, () => ran(call, running, limits))

const ran = async (
  call: ToolUse,
  { tool, edited, made, key }: Running,
  { signal, timeout, maxResult, named, onEvent, emit }: ToolRunOptions,
): Promise<Ran> => {
  const { id, name } = call
  const { input } = edited ?? call
  const failing = (text: string): Block =>
    failedResult(call, edited ? `${editNote(edited)}\n\n${text}` : text)
  const limit = tool.timeout ?? timeout
  const time = new AbortController()
  const timer = setTimeout(() => time.abort(`It took longer than ${limit} ms and was given up.`), limit)
  const ends = AbortSignal.any([time.signal, ...(signal ? [signal] : [])])
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
    if (signal?.aborted) return { block: failing(isBegun ? cutOff(tool, ended) : notBegun), why: 'aborted' }
    // A tool that reacts to its signal throws an error of its own, which the message about the time limit replaces.
    if (time.signal.aborted)
      return { block: failing(cutOff(tool, String(time.signal.reason))), why: 'timeout' }
    return { block: failing(errorText(error)), why: errorName(error) }
  } finally {
    clearTimeout(timer)
  }
}
