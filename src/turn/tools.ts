import type { Block, KnownBlock } from '../events/blocks.ts'
import { orAborted } from '../models/aborted.ts'
import { answerOf, type ToolAnswer } from './tool-output.ts'
import { errorText } from '../models/error-text.ts'
import type { ToolNames } from './tool-own-blocks.ts'

export interface ToolContext {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  /** A result of up to this many bytes is shown to the model whole. */
  readonly maxResult: number
  /** Aborts with the turn, and when the tool's time is up. */
  readonly signal: AbortSignal
}

// A method, so that a tool may declare the input that its schema promises.
interface Runs {
  run(input: unknown, context: ToolContext): unknown
}
/**
 * Carries out a call. Returns, or promises, a text or blocks for the model, the result of an MCP client's `callTool`, any other value
 * (JSON for the model), or nothing. What it throws goes to the model as an error result.
 */
export type ToolFunction = Runs['run']

/** A tool with settings. */
export interface ToolSettings extends Runs {
  /** Running it twice has the effect of running it once, so it is run again after a crash. Default false. */
  readonly idempotent?: boolean
  /** Milliseconds. Default: the turn's `toolTimeout`. */
  readonly timeout?: number
}

/** The caller's tools, by name. */
export type Tools = { readonly [name: string]: ToolFunction | ToolSettings }

export type ToolUse = KnownBlock<'tool_use'>

interface Limits {
  readonly signal: AbortSignal | undefined
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes. */
  readonly maxResult: number
  readonly named: ToolNames
}

const toolOf = (tools: Tools, name: string): ToolSettings | undefined => {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
  return typeof tool === 'function' ? { run: tool } : tool
}

/** Runs calls at the same time. Their results are in the order of the calls; failures are error results. */
export const runTools = (
  calls: readonly ToolUse[],
  tools: Tools,
  limits: Limits,
): Promise<readonly Block[]> => Promise.all(calls.map((call) => resultOf(call, tools, limits)))

/**
 * Results for calls that may have been run before: those of idempotent tools are run again, the others answer that they were
 * interrupted.
 */
export const runAgain = (
  calls: readonly ToolUse[],
  tools: Tools,
  limits: Limits,
): Promise<readonly Block[]> =>
  Promise.all(
    calls.map(async (call) =>
      toolOf(tools, call.name)?.idempotent === true
        ? resultOf(call, tools, limits)
        : failed(call, 'This call was interrupted: whether it took effect is not known.'),
    ),
  )

/** The result of a call that was not begun. */
export const notRun = (call: ToolUse): Block =>
  failed(call, 'This call was not run: the reply was interrupted.')

const result = ({ id }: ToolUse, answer: ToolAnswer): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  ...answer,
})
const failed = (call: ToolUse, content: string): Block => result(call, { is_error: true, content })

const resultOf = async (
  call: ToolUse,
  tools: Tools,
  { signal, timeout, maxResult, named }: Limits,
): Promise<Block> => {
  const { id, name, input } = call
  const tool = toolOf(tools, name)
  if (!tool) return failed(call, `There is no tool ${name}.`)
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return failed(call, 'The input is not complete: the reply was cut off inside it.')
  const limit = tool.timeout ?? timeout
  const time = new AbortController()
  const timer = setTimeout(() => time.abort(`It took longer than ${limit} ms and was given up.`), limit)
  const ends = AbortSignal.any([time.signal, ...(signal ? [signal] : [])])
  try {
    ends.throwIfAborted()
    // A copy: the tool may change what it is given.
    const output = await orAborted(
      tool.run(structuredClone(input), { id, name, maxResult, signal: ends }),
      ends,
    )
    return result(call, await answerOf(output, { signal: ends, tools: named }))
  } catch (error) {
    if (signal?.aborted) return failed(call, 'The call was interrupted by the user.')
    return failed(call, errorText(error))
  } finally {
    clearTimeout(timer)
  }
}
