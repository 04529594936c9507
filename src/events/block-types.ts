import type { Fields } from './json.ts'

// The content blocks of the Anthropic Messages API, as types. What one may write is closed, so that the compiler catches a misspelt
// type or field; what is read may have more fields than these, as it is kept verbatim.

/** What every block may have. */
interface Cacheable {
  readonly cache_control?: unknown
}
export interface TextBlockInput extends Cacheable {
  readonly type: 'text'
  readonly text: string
  readonly citations?: unknown
}
/** Where the content of an image or a document comes from: `base64`, `url`, `file`, `text`, `content`. */
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
  /** Recorders of other models' sessions have none to store. */
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
  /** An object; a model's broken call is stored as it was, and render wraps it. */
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
  /** Null, or nothing, if the compaction failed. */
  readonly content?: unknown
  readonly encrypted_content?: unknown
}

/** The types of the API's other blocks: their fields are not checked. */
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
/** Another block of the API. */
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

/** A block of whose type nothing is known here, such as one from elsewhere: what a session, a model or a tool gave. */
export interface AnyBlock extends Fields {
  readonly type: string
}

/**
 * Any type but those above. To the compiler it is a text that none of those matches, so that `block.type === 'text'` leaves text blocks
 * only, in every TypeScript from 5.4 on: a branded string would not be ruled out. What is stored begins with no such prefix.
 */
export type UnknownBlockType = `unknown:${string}`

/** A block of a type that this version does not know, verbatim. */
export interface UnknownBlock extends Fields {
  readonly type: UnknownBlockType
}

/**
 * A block to be written: one of the API's, or what `unknownBlock` gives. A list that is not written in the call itself needs this type:
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
/** The blocks inside of a result were stored as they were given: that their fields are those of their types was not checked. */
export interface ToolResultBlock extends ToolResultBlockInput, Fields {
  readonly content?: string | readonly Block[] | undefined
}
export interface CompactionBlock extends CompactionBlockInput, Fields {}
export interface UncheckedBlock extends UncheckedBlockInput, Fields {}

/** The blocks whose fields were checked when they were stored, by type. */
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
 * A content block as it was stored, verbatim: one of the API's, or one that this version does not know. `block.type === 'text'` leaves
 * a `TextBlock`; fields that a type does not name are `unknown`.
 */
export type Block = KnownBlocks[keyof KnownBlocks] | UncheckedBlock | UnknownBlock
