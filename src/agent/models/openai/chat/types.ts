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
  /** Called function, with its arguments as JSON text. */
  readonly function: { readonly name: string; readonly arguments: string }
}
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  /** Content of the message; null for an assistant message with only tool calls. */
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
/** The part of a Chat Completions request that a receipt covers. */
export interface Chat {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
}

/** Kind of deviation of a Chat Completions request from the rendered one; some kinds are shared with the renderer. */
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
  /** Block, or a fact about it, written as text because Chat Completions has no field for it. */
  | 'shown-as-text'
  /** Picture or file moved from a tool result to the user message after the results. */
  | 'media-moved'
  /** Assistant message inserted between tool results and the user's text. */
  | 'assistant-added'
  /** Text that followed a tool call, moved before the call. */
  | 'calls-moved'
  /** Tool name replaced because the API would refuse it. */
  | 'name-replaced'
  /** Tool omitted because only another API offers it, or because it exceeds the limit of 128 tools. */
  | 'tool-dropped'
  /** Schema of a tool's input, completed with parts that the API requires. */
  | 'schema-completed'
  /** Parameter omitted because only another API has it. */
  | 'parameter-dropped'

/**
 * Function that reports a deviation from the rendered request.
 *
 * @param block the block that deviates; undefined if the deviation is in the tools or parameters
 */
export type ChatReport = (kind: ChatRepairKind, detail: string, block?: Block) => void
