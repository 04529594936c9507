import type { Block } from '../../../events/blocks.ts'
import { isServerResult, isServerUse } from './clean.ts'
import type { Report } from './repairs.ts'

type Ids = Pick<ReadonlySet<string>, 'has'>

/** State before a message that determines which server tool uses and results in the message can be sent. */
export interface Before {
  /** Ids of server tool uses that have no result yet. */
  readonly waiting: Ids
  /**
   * True if nothing comes between the waiting uses and the message. Their results may then be anywhere in the message; otherwise they
   * must come first.
   */
  readonly isSameMessage: boolean
  /** Ids of the tool calls and server tool uses that the request already contains. */
  readonly used: Ids
}
export interface Paired {
  readonly content: readonly Block[]
  /** Ids of the uses whose result has come, including uses before the message. */
  readonly served: ReadonlySet<string>
  /** Uses in the message that now wait for a result. */
  readonly opened: readonly Block[]
}

/**
 * Leaves out server tool results without a preceding use, and uses whose results cannot be sent. A use that has no result yet may wait
 * for one.
 *
 * @param stored the content as stored
 */
export const pairServerTools = (
  content: readonly Block[],
  stored: readonly Block[],
  { waiting, isSameMessage, used }: Before,
  position: number,
  report: Report,
): Paired => {
  if (!content.some(isServer)) return { content, served: new Set(), opened: [] }
  const served = new Set<string>()
  const opened = new Map<string, Block>()
  const kept = new Set<Block>()
  let isBeginning = true
  for (const block of content) {
    const id = idOf(block)
    if (isServerUse(block)) {
      if (!used.has(id) && !opened.has(id)) opened.set(id, block)
    } else if (isServerResult(block) && !served.has(id)) {
      const use = opened.get(id)
      if (use) kept.add(use).add(block)
      if (use || (waiting.has(id) && (isSameMessage || isBeginning))) {
        kept.add(block)
        served.add(id)
      }
    }
    isBeginning &&= isServerResult(block)
  }
  const answered = new Set(stored.map((block) => block['tool_use_id']))
  for (const [id, use] of opened)
    // A use whose result cannot be sent does not get another one.
    if (served.has(id) || answered.has(id)) opened.delete(id)
    else kept.add(use)
  return {
    content: content.filter((block) => {
      const isKept = kept.has(block) || !isServer(block)
      if (!isKept) report('server-tool-dropped', position, `${block.type} ${idOf(block)} stands alone`)
      return isKept
    }),
    served,
    opened: [...opened.values()],
  }
}

const isServer = (block: Block): boolean => isServerUse(block) || isServerResult(block)

const idOf = (block: Block): string => String(isServerUse(block) ? block['id'] : block['tool_use_id'])

/** Returns the ids of the server tool uses whose programs made the tool calls in a message. Those programs are still running. */
export const callersIn = (content: readonly Block[]): ReadonlySet<unknown> =>
  new Set(
    content.flatMap(({ type, caller }) => (type === 'tool_use' && isCaller(caller) ? [caller.tool_id] : [])),
  )

const isCaller = (caller: unknown): caller is { readonly tool_id: unknown } =>
  typeof caller === 'object' && caller !== null && 'tool_id' in caller
