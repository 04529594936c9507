import type { Block } from '../../../../events/blocks.ts'
import type { Repair } from '../../../../projections/render/renderer.ts'

export type { ChatForm } from '../../form.ts'

export interface ChatPart {
  readonly type: 'text' | 'image_url' | 'file'
  readonly [field: string]: unknown
}
export interface ChatCall {
  readonly id: string
  readonly type: 'function'
  /** `arguments` is JSON. */
  readonly function: { readonly name: string; readonly arguments: string }
}
/** A message in the form of Chat Completions. */
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** Null for an assistant message with only tool calls. */
  readonly content: string | readonly ChatPart[] | null
  readonly tool_calls?: readonly ChatCall[]
  readonly tool_call_id?: string
  readonly [field: string]: unknown
}
export interface ChatTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}
/** The part of a request in this form that a receipt covers. */
export interface Chat {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
}

/** Kind of deviation of a request in this form from the rendered one; some kinds are the renderer's own. */
export type ChatRepairKind =
  | Extract<
      Repair['kind'],
      | 'cache-control-dropped'
      | 'field-dropped'
      | 'id-replaced'
      | 'message-dropped'
      | 'roles-merged'
      | 'server-tool-dropped'
      | 'thinking-dropped'
    >
  /** A block, or a fact about it, written as text because the API has no place for it. */
  | 'shown-as-text'
  /** A picture or file of a tool result moved to the user message after the results. */
  | 'media-moved'
  /** An assistant message inserted between tool results and the user's text. */
  | 'assistant-added'
  /** A text after a call moved before it. */
  | 'calls-moved'
  /** A tool name replaced because the API refuses it. */
  | 'name-replaced'
  /** A tool omitted because only another API has it, or because it exceeds the 128 allowed. */
  | 'tool-dropped'
  /** Parts required by the API added to the schema of a tool's input. */
  | 'schema-completed'
  /** A parameter omitted because only another API has it. */
  | 'parameter-dropped'

/** @param block where; undefined if it is about tools or parameters */
export type ChatReport = (kind: ChatRepairKind, detail: string, block?: Block) => void
