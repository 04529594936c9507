import type { Block, KnownBlock } from '../../../events/blocks.ts'
import { showsContent } from '../../telemetry/open-telemetry.ts'
import { inSpan } from '../../telemetry/spans.ts'

/** Result of a call; `why` is the reason if the result is an error that the tool itself did not return. */
export interface Ran {
  readonly block: Block
  readonly why?: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null))

/** Runs a tool in a span that follows the GenAI conventions. */
export const traceTool = (
  { id, name }: KnownBlock<'tool_use'>,
  input: unknown,
  run: () => Promise<Ran>,
): Promise<Block> =>
  inSpan(
    `execute_tool ${name}`,
    () => ({
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': id,
        'gen_ai.tool.type': 'function',
        ...(showsContent() && { 'gen_ai.tool.call.arguments': text(input) }),
      },
    }),
    async (span) => {
      const { block, why } = await run()
      if (block['is_error'] === true) span?.failed(why ?? 'tool_error')
      if (showsContent()) span?.set({ 'gen_ai.tool.call.result': text(block['content']) })
      return block
    },
  )
