import {
  type Block,
  isBlock,
  isWellShaped,
  type BlockSource,
  type TextBlock,
  type ToolResultBlock,
} from '../../../events/blocks.ts'
import type { Role } from '../../../events/events.ts'
import type { Report } from './repairs.ts'

// The blocks that are allowed in each place, and the parts of a block that the API refuses regardless of the surroundings.

const serverResults = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_result',
]
const allowed: Readonly<Record<Role | 'result', ReadonlySet<string>>> = {
  user: new Set([
    'text',
    'image',
    'document',
    'search_result',
    'tool_result',
    'container_upload',
    'compaction',
  ]),
  assistant: new Set([
    'text',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'mcp_tool_use',
    'compaction',
    ...serverResults,
  ]),
  system: new Set(['text']),
  result: new Set(['text', 'image', 'document', 'search_result', 'tool_reference']),
}

export const isThinking = (block: Block): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

export const isServerUse = (block: Block): boolean =>
  block.type === 'server_tool_use' || block.type === 'mcp_tool_use'

export const isServerResult = (block: Block): boolean => serverResults.includes(block.type)

/**
 * Reports whether a compaction block replaces the messages before it. A block without content, or with null or empty content, only
 * reports that the compaction failed.
 */
export const isCompaction = ({ type, content }: Block): boolean =>
  type === 'compaction' && content !== undefined && content !== null && content !== ''

const isBlank = (text: string): boolean => text.trim() === ''

const omit = (block: Block, field: string): Block => {
  const { [field]: _, ...rest } = block
  return rest as Block
}

/** Replaces every lone surrogate in a value; returns the same object if it has no lone surrogates. */
export const wellFormed = <T>(value: T): T => (isWellFormed(value) ? value : (repaired(value) as T))

const isWellFormed = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, field]) => key.isWellFormed() && isWellFormed(field))
}

const repaired = (value: unknown): unknown => {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(repaired)
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key.toWellFormed(), repaired(field)]),
  )
}

/**
 * Returns the blocks that are allowed in a message of this role or in a tool result, each in a form that the API accepts; the same
 * array if nothing changes. Thinking stays as signed; if it contains a lone surrogate, `thinkingProblem` leaves it out.
 */
export const clean = (
  content: readonly Block[],
  place: Role | 'result',
  position: number,
  report: Report,
): readonly Block[] => {
  const cleaned = cleanBlocks(content, place, position, report)
  const isSame =
    cleaned.length === content.length && cleaned.every((block, index) => block === content[index])
  return isSame ? content : cleaned
}

const cleanBlocks = (
  content: readonly Block[],
  place: Role | 'result',
  position: number,
  report: Report,
): readonly Block[] =>
  content.flatMap((stored) => {
    if (place === 'result' && !isWellShaped(stored)) {
      report('block-dropped', position, 'a block of a tool result without the fields that it needs')
      return []
    }
    if (!allowed[place].has(stored.type)) {
      report('block-dropped', position, `${stored.type} cannot stand in ${place} content`)
      return []
    }
    if (isThinking(stored)) return [stored]
    if (isBlock(stored, 'image') && !isPicture(stored.source)) {
      report('block-dropped', position, 'an image without data, or of a media type that no model takes')
      return []
    }
    const block = wellFormed(stored)
    if (block !== stored) report('surrogate-replaced', position, `a lone surrogate in a ${block.type} block`)
    if (isBlock(block, 'text')) return cleanText(block, place, position, report)
    if (isBlock(block, 'tool_result')) return [cleanResult(block, position, report)]
    if (block.type === 'compaction' && !isCompaction(block)) {
      report('compaction-applied', position, 'a failed compaction stands for nothing')
      return []
    }
    return [block]
  })

const pictureTypes: ReadonlySet<unknown> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Reports whether the API accepts an image source. Only base64 sources are checked here; the API checks all others. */
const isPicture = (source: Partial<BlockSource> | undefined): boolean =>
  source?.type !== 'base64' ||
  (pictureTypes.has(source.media_type) && typeof source.data === 'string' && source.data !== '')

const cleanText = (block: TextBlock, place: string, position: number, report: Report): readonly Block[] => {
  if (isBlank(block.text)) {
    report('blank-dropped', position, 'a text without a visible character')
    return []
  }
  if (place === 'user' && 'citations' in block) {
    report('field-dropped', position, 'citations of a user text')
    return [omit(block, 'citations')]
  }
  return [block]
}

const cleanResult = (block: ToolResultBlock, position: number, report: Report): Block => {
  const { content } = block
  if (content === undefined || (typeof content === 'string' && !isBlank(content))) return block
  const blocks = Array.isArray(content) ? (content as readonly Block[]) : []
  const kept = clean(blocks, 'result', position, report)
  if (kept.length === 0) {
    report('blank-dropped', position, 'the content of a tool result without a visible character')
    return omit(block, 'content')
  }
  return kept === blocks ? block : { ...block, content: kept }
}
