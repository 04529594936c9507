import type { Block } from '../../events/blocks.ts'
import { isServerResult, isServerUse } from './clean.ts'
import type { Report } from './repairs.ts'

type Ids = Pick<ReadonlySet<string>, 'has'>

/** What comes before a message that matters for its server tools. */
export interface ServerToolContext {
  /** Ids of the server tool uses without a result so far. */
  readonly waiting: Ids
  /** Whether nothing is between them and the message: if so, their results may come anywhere in it, else they come first. */
  readonly isSameMessage: boolean
  /** Ids that the request holds already. */
  readonly used: Ids
}
export interface PairedContent {
  readonly content: readonly Block[]
  /** The uses whose result has come, including those before the message; and the uses in it that wait from now on. */
  readonly served: ReadonlySet<string>
  readonly opened: readonly Block[]
}

/**
 * Leaves out the results without a use before them, and the uses whose results cannot be sent. A use without a result so far may wait.
 *
 * @param stored the content as it was said
 */
export const pairServerTools = (
  content: readonly Block[],
  stored: readonly Block[],
  { waiting, isSameMessage, used }: ServerToolContext,
  position: number,
  report: Report,
): PairedContent => {
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

/** Ids of the server tool uses whose programs make the calls of a message: they are still running. */
export const callersIn = (content: readonly Block[]): ReadonlySet<unknown> =>
  new Set(
    content.flatMap(({ type, caller }) => (type === 'tool_use' && isCaller(caller) ? [caller.tool_id] : [])),
  )

const isCaller = (caller: unknown): caller is { readonly tool_id: unknown } =>
  typeof caller === 'object' && caller !== null && 'tool_id' in caller
