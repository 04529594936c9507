import { isBlock, type Block, type KnownBlock } from '../../../events/blocks.ts'
import { freeze } from '../../../events/freeze.ts'
import { limitResults, type ResultLimit } from '../../context/policy/result-limit.ts'
import type { Emit, ToolRun } from '../stream/turn-event.ts'

interface Watching {
  readonly emit: Emit
  /** Bytes. */
  readonly maxResult: number
  readonly rest: ResultLimit['rest']
}

/** The result of a call; whoever listens is told of it, as the model will be shown it, and how long it took. */
export const watched = async (
  { id, name }: KnownBlock<'tool_use'>,
  { emit, maxResult: bytes, rest }: Watching,
  run: () => Promise<Block>,
): Promise<Block> => {
  const start = performance.now()
  // Whoever listens gets the same blocks that are recorded.
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

/** Also keeps how long the calls of tools took. */
export const timing =
  (emit: Emit, tools: ToolRun[]): Emit =>
  (event) => {
    if (event.type === 'tool-ended' || event.type === 'tool-failed') {
      const { type, call, tool, ms } = event
      tools.push({ call, tool, ms, isError: type === 'tool-failed' })
    }
    emit(event)
  }
