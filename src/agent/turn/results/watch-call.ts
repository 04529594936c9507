import { isBlock, type Block, type KnownBlock } from '../../../events/blocks.ts'
import { freeze } from '../../../events/freeze.ts'
import { limitResults, type ResultLimit } from '../../context/policy/result-limit.ts'
import type { Emit, ToolRun } from '../stream/turn-event.ts'

interface Watching {
  readonly emit: Emit
  /** Maximum size, in bytes, of a result that is shown to the model in full. */
  readonly maxResult: number
  readonly rest: ResultLimit['rest']
}

/** Runs a call and returns its result. Also emits the duration of the call and the result as it will be shown to the model. */
export const watchCall = async (
  { id, name }: KnownBlock<'tool_use'>,
  { emit, maxResult: bytes, rest }: Watching,
  run: () => Promise<Block>,
): Promise<Block> => {
  const start = performance.now()
  // Frozen, because listeners receive the same blocks that are recorded.
  const result = freeze(await run())
  const ms = performance.now() - start
  const [shown = result] = limitResults([result], { bytes, rest }) ?? []
  const content = (isBlock(shown, 'tool_result') ? shown.content : undefined) ?? ''
  emit({
    type: result['is_error'] === true ? 'tool-failed' : 'tool-ended',
    call: id,
    tool: name,
    ms,
    content,
  })
  return result
}

/** Returns a listener that forwards events to `emit` and adds the durations of tool calls to `tools`. */
export const collectDurations =
  (emit: Emit, tools: ToolRun[]): Emit =>
  (event) => {
    if (event.type === 'tool-ended' || event.type === 'tool-failed') {
      const { type, call, tool, ms } = event
      tools.push({ call, tool, ms, isError: type === 'tool-failed' })
    }
    emit(event)
  }
