import type { Block } from '../../events/blocks.ts'
import { isServerResult, isServerUse } from './clean.ts'
import type { Report } from './repairs.ts'

/**
 * Leaves out the server tool uses without a result later in the same message, and results without a use before them. The pair
 * must be in one message: a request that once held the use alone would have to change when its result came.
 *
 * @param used ids that the request holds already; those of the pairs kept are added
 */
export const pairServerTools = (
  content: readonly Block[],
  used: Set<string>,
  position: number,
  report: Report,
): readonly Block[] => {
  if (!content.some((block) => isServerUse(block) || isServerResult(block))) return content
  const resultOf = new Map<string, number>()
  const keep = new Set<number>()
  content.forEach((block, index) => {
    if (!isServerResult(block)) return
    const id = String(block['tool_use_id'])
    const use = content.findIndex((other) => isServerUse(other) && other['id'] === id)
    if (use < 0 || use > index || resultOf.has(id) || used.has(id)) return
    resultOf.set(id, index)
    keep.add(use).add(index)
  })
  for (const id of resultOf.keys()) used.add(id)
  return content.filter((block, index) => {
    const kept = keep.has(index) || !(isServerUse(block) || isServerResult(block))
    if (!kept)
      report(
        'server-tool-dropped',
        position,
        `${block.type} ${String(block['id'] ?? block['tool_use_id'])} stands alone`,
      )
    return kept
  })
}
