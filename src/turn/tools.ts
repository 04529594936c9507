import type { Block, KnownBlock } from '../events/blocks.ts'
import { orAborted } from '../models/aborted.ts'
import type { CallOptions } from '../models/model.ts'
import { effectOf, needsApproval, type ToolSettings, type Tools } from '../tools/settings.ts'
import type { ResultLimit } from '../context/policy/result-limit.ts'
import { answerOf, type ToolAnswer } from './tool-output.ts'
import type { Emit } from './turn-event.ts'
import { watched } from './watched-call.ts'
import { errorText } from '../models/error-text.ts'
import type { ToolNames } from './tool-own-blocks.ts'

export type ToolUse = KnownBlock<'tool_use'>

interface Limits {
  readonly signal: AbortSignal | undefined
  /** Milliseconds. */
  readonly timeout: number
  /** Bytes. */
  readonly maxResult: number
  readonly named: ToolNames
  /** How the model can get at what is cut from a result. */
  readonly rest: ResultLimit['rest']
  /** Is told how far a call is. */
  readonly onEvent: CallOptions['onEvent']
  readonly emit: Emit
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
): Promise<readonly Block[]> =>
  Promise.all(calls.map((call) => watched(call, limits, () => resultOf(call, tools, limits))))

/**
 * Results for calls that may have been run before: those that do no harm twice are run again, the others answer that they were
 * interrupted.
 */
export const runAgain = (
  calls: readonly ToolUse[],
  tools: Tools,
  limits: Limits,
): Promise<readonly Block[]> =>
  Promise.all(
    calls.map((call) =>
      watched(call, limits, async () => {
        const tool = toolOf(tools, call.name)
        return tool && effectOf(tool) !== 'unsafe'
          ? resultOf(call, tools, limits)
          : failed(call, 'This call was interrupted: whether it took effect is not known.')
      }),
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
  { signal, timeout, maxResult, named, onEvent, emit }: Limits,
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
    const asked = needsApproval(tool, { id, name, input: structuredClone(input) })
    if (await orAborted(asked, ends)) return failed(call, 'This call was not run: nobody has approved it.')
    const progress = (text: string): void => {
      emit({ type: 'tool-progress', call: id, tool: name, text })
      onEvent?.({ type: 'tool_progress', id, name, text })
    }
    emit({ type: 'tool-started', call: id, tool: name, input })
    // A copy: the tool may change what it is given.
    const output = await orAborted(
      tool.run(structuredClone(input), { id, name, maxResult, signal: ends, progress }),
      ends,
    )
    return result(call, await answerOf(output, { signal: ends, tools: named }))
  } catch (error) {
    if (signal?.aborted) return failed(call, 'The call was interrupted by the user.')
    // A tool that heeds its signal fails with an error of its own.
    if (time.signal.aborted) return failed(call, String(time.signal.reason))
    return failed(call, errorText(error))
  } finally {
    clearTimeout(timer)
  }
}
