import type { Block, KnownBlock } from '../../../events/blocks.ts'
import { showsContent } from '../../telemetry/open-telemetry.ts'
import { inSpan } from '../../telemetry/spans.ts'

/** The result of a call, and why it is an error if the tool has not said so itself. */
export interface Ran {
  readonly block: Block
  readonly why?: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null))

/** Runs a tool, as a span that the conventions for GenAI describe. */
export const tracedTool = (
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
