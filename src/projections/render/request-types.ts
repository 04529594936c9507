import type { Fields } from '../../events/json.ts'

// The types of a request. Both `messages` and `beta.messages` of the API's SDK accept them without a cast. The SDK's own types are not
// used, because they differ between SDK versions and are missing in programs without the SDK. The arrays are mutable to the compiler,
// as the SDK requires; arrays that are cached are frozen.

export interface RequestText extends Fields {
  readonly type: 'text'
  readonly text: string
}

/** Image sources that the API itself defines. Images with other sources, such as a file, are passed through. */
export type ImageSource =
  | {
      readonly type: 'base64'
      readonly media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'
      readonly data: string
    }
  | { readonly type: 'url'; readonly url: string }
export interface RequestImage extends Fields {
  readonly type: 'image'
  readonly source: ImageSource
}

/** Document sources that the API itself defines. Documents with other sources, such as a file, are passed through. */
export type DocumentSource =
  | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
  | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
export interface RequestDocument extends Fields {
  readonly type: 'document'
  readonly source: DocumentSource
}

export interface RequestThinking extends Fields {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature: string
}
export interface RequestRedactedThinking extends Fields {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface RequestToolUse extends Fields {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}
export interface RequestToolResult extends Fields {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: string | (RequestText | RequestImage | RequestDocument)[]
  readonly is_error?: boolean
}

/**
 * A frozen block of a request. Blocks of other types, such as server tool calls and results, are passed through but are not in this
 * type; test for them with `(block.type as string) === 'server_tool_use'`.
 */
export type RequestBlock =
  | RequestText
  | RequestImage
  | RequestDocument
  | RequestThinking
  | RequestRedactedThinking
  | RequestToolUse
  | RequestToolResult

/** A message of a request. With `systemMessages` the role may also be `system`, and such a message may set the effort. */
export interface RequestMessage {
  readonly role: 'user' | 'assistant'
  readonly content: RequestBlock[]
  readonly output_config?: { readonly effort: string }
}

/** A frozen tool definition of a request. The API's own tools, which have a `type` and no schema, are passed through. */
export interface RequestTool extends Fields {
  readonly name: string
  readonly input_schema: { readonly type: 'object'; readonly [keyword: string]: unknown }
}
