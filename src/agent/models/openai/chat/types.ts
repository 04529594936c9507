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
/** A message as Chat Completions takes it. */
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** Null for an assistant that only calls tools. */
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
/** What a receipt covers of a request in this form. */
export interface Chat {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
}

/** How a request in this form departs from the rendered one; some kinds are the renderer's own. */
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
  /** A block, or a fact about it, that the API has no place for written as text. */
  | 'shown-as-text'
  /** A picture or file of a tool result moved to the user message after the results. */
  | 'media-moved'
  /** A message of the assistant put between the results of tools and what the user says. */
  | 'assistant-added'
  /** A text that came after a call moved before it. */
  | 'calls-moved'
  /** A tool name that the API refuses replaced. */
  | 'name-replaced'
  /** A tool that only another API has, or one beyond the 128 that are allowed, left out. */
  | 'tool-dropped'
  /** What the API requires added to the schema of a tool's input. */
  | 'schema-completed'
  /** A parameter that only another API has left out. */
  | 'parameter-dropped'

/** @param block where; undefined if it is about tools or parameters */
export type ChatReport = (kind: ChatRepairKind, detail: string, block?: Block) => void
