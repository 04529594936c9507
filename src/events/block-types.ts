import type { Fields } from './json.ts'

// The content blocks of the Anthropic Messages API, as types. The input types allow no unknown fields, so that the compiler
// catches a misspelt type or field. Blocks that are read may have further fields, because blocks are stored verbatim.

interface Cacheable {
  readonly cache_control?: unknown
}
export interface TextBlockInput extends Cacheable {
  readonly type: 'text'
  readonly text: string
  readonly citations?: unknown
}
/** Source of the content of an image or a document. Its type is `base64`, `url`, `file`, `text` or `content`. */
export interface BlockSource {
  readonly type: string
  readonly media_type?: string | undefined
  readonly data?: string | undefined
  readonly url?: string | undefined
  readonly file_id?: string | undefined
  readonly content?: unknown
}
export interface ImageBlockInput extends Cacheable {
  readonly type: 'image'
  readonly source: BlockSource
}
export interface DocumentBlockInput extends Cacheable {
  readonly type: 'document'
  readonly source: BlockSource
  readonly title?: string | null | undefined
  readonly context?: string | null | undefined
  readonly citations?: unknown
}
export interface ThinkingBlockInput {
  readonly type: 'thinking'
  readonly thinking: string
  /** Signature of the thinking; absent in sessions recorded with other models. */
  readonly signature?: string | undefined
}
export interface RedactedThinkingBlockInput {
  readonly type: 'redacted_thinking'
  readonly data: string
}
export interface ToolUseBlockInput extends Cacheable {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  /** Input of the call: an object. A model's malformed input is stored unchanged; render wraps it in an object. */
  readonly input: unknown
  readonly caller?: unknown
}
export interface ToolResultBlockInput extends Cacheable {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: string | readonly BlockInput[] | undefined
  readonly is_error?: boolean | undefined
}
export interface CompactionBlockInput extends Cacheable {
  readonly type: 'compaction'
  /** Content of the compaction; null or absent if the compaction failed. */
  readonly content?: unknown
  readonly encrypted_content?: unknown
}

/** Types of API blocks whose fields are not checked. */
export type UncheckedBlockType =
  | 'advisor_tool_result'
  | 'bash_code_execution_tool_result'
  | 'browser_state'
  | 'code_execution_tool_result'
  | 'container_upload'
  | 'fallback'
  | 'mcp_tool_listing'
  | 'mcp_tool_use'
  | 'mcp_tool_result'
  | 'search_result'
  | 'server_tool_use'
  | 'text_editor_code_execution_tool_result'
  | 'tool_addition'
  | 'tool_reference'
  | 'tool_removal'
  | 'tool_search_tool_result'
  | 'web_fetch_tool_result'
  | 'web_search_tool_result'
/** A block of the API whose fields are not checked. */
export interface UncheckedBlockInput extends Cacheable {
  readonly type: UncheckedBlockType
  readonly id?: unknown
  readonly name?: unknown
  readonly input?: unknown
  readonly caller?: unknown
  readonly server_name?: unknown
  readonly tool_use_id?: unknown
  readonly tool_name?: unknown
  readonly content?: unknown
  readonly is_error?: unknown
  readonly file_id?: unknown
  readonly source?: unknown
  readonly title?: unknown
  readonly citations?: unknown
}

/** A block of unknown type, for example from a session, a model or a tool. */
export interface AnyBlock extends Fields {
  readonly type: string
}

/**
 * Placeholder for every block type unknown to this version. To the compiler it is a string that matches no known type, so that
 * `block.type === 'text'` narrows to text blocks in every TypeScript from 5.4 on; a branded string would not be excluded. Stored types
 * do not have this prefix.
 */
export type UnknownBlockType = `unknown:${string}`

/** A block of a type that this version does not know, verbatim. */
export interface UnknownBlock extends Fields {
  readonly type: UnknownBlockType
}

/**
 * A block to write: a block of the API, or the result of `unknownBlock`. Declare a list with this type if it is built outside the call:
 * `const content: BlockInput[] = [{ type: 'text', text: 'Look.' }]`.
 */
export type BlockInput =
  | TextBlockInput
  | ImageBlockInput
  | DocumentBlockInput
  | ThinkingBlockInput
  | RedactedThinkingBlockInput
  | ToolUseBlockInput
  | ToolResultBlockInput
  | CompactionBlockInput
  | UncheckedBlockInput
  | UnknownBlock

export interface TextBlock extends TextBlockInput, Fields {}
export interface ImageBlock extends ImageBlockInput, Fields {}
export interface DocumentBlock extends DocumentBlockInput, Fields {}
export interface ThinkingBlock extends ThinkingBlockInput, Fields {}
export interface RedactedThinkingBlock extends RedactedThinkingBlockInput, Fields {}
export interface ToolUseBlock extends ToolUseBlockInput, Fields {}
/** A tool result. Its inner blocks are stored as given, without checking that their fields fit their types. */
export interface ToolResultBlock extends ToolResultBlockInput, Fields {
  readonly content?: string | readonly Block[] | undefined
}
export interface CompactionBlock extends CompactionBlockInput, Fields {}
export interface UncheckedBlock extends UncheckedBlockInput, Fields {}

/** Blocks whose fields are checked when they are stored, by block type. */
export interface KnownBlocks {
  readonly text: TextBlock
  readonly image: ImageBlock
  readonly document: DocumentBlock
  readonly thinking: ThinkingBlock
  readonly redacted_thinking: RedactedThinkingBlock
  readonly tool_use: ToolUseBlock
  readonly tool_result: ToolResultBlock
  readonly compaction: CompactionBlock
}

/**
 * A content block as it was stored, verbatim: a block of the API, or a block of a type unknown to this version. `block.type === 'text'`
 * narrows to `TextBlock`; fields that a type does not name are `unknown`.
 */
export type Block = KnownBlocks[keyof KnownBlocks] | UncheckedBlock | UnknownBlock
