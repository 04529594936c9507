import { isBlock, type Block, type KnownBlock } from '../../../events/blocks.ts'
import { freeze } from '../../../events/freeze.ts'
import { limitResults, type ResultLimit } from '../../context/policy/result-limit.ts'
import type { Emit, ToolRun } from '../stream/turn-event.ts'

interface Watching {
  readonly emit: Emit
  /** Maximum size, in bytes, of a result that is shown to the model in full. */
  readonly maxResult: number
  readonly rest: ResultLimit['rest']
  readonly onEnded: (run: ToolRun) => void
}

/**
 * Runs a call and returns its result. Also reports that the call has ended, and emits its duration and the result as it will be shown to
 * the model.
 */
export const watchCall = async (
  { id, name }: KnownBlock<'tool_use'>,
  { emit, maxResult: bytes, onEnded, rest }: Watching,
  run: () => Promise<Block>,
): Promise<Block> => {
  const start = performance.now()
  // Frozen, because listeners receive the same blocks that are recorded.
  const result = freeze(await run())
  const ms = performance.now() - start
  const [shown = result] = limitResults([result], { bytes, rest }) ?? []
  const content = (isBlock(shown, 'tool_result') ? shown.content : undefined) ?? ''
  const isError = result['is_error'] === true
  onEnded({ call: id, tool: name, ms, isError })
  emit({ type: isError ? 'tool-failed' : 'tool-ended', call: id, tool: name, ms, content })
  return result
}
