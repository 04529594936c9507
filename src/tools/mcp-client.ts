/**
 * A connected client of an MCP server, as `Client` of `@modelcontextprotocol/sdk` is one: what is used of it, so that any version that has
 * it fits.
 */
export interface McpClient {
  listTools(params?: { readonly cursor: string }): Promise<McpPage>
  callTool(params: McpCall, resultSchema: undefined, options: McpRequest): Promise<unknown>
}

export interface McpPage {
  readonly tools: readonly McpTool[]
  readonly nextCursor?: string | undefined
}

/** A tool as its server describes it. */
export interface McpTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: { readonly [field: string]: unknown }
  readonly annotations?: McpHints | undefined
}

/** What a server says of a tool: true only as far as the server is trusted. */
export interface McpHints {
  readonly readOnlyHint?: boolean | undefined
  readonly destructiveHint?: boolean | undefined
  readonly idempotentHint?: boolean | undefined
}

interface McpCall {
  readonly name: string
  readonly arguments: { [field: string]: unknown }
}

interface McpRequest {
  readonly signal: AbortSignal
  /** Milliseconds. */
  readonly timeout: number
  readonly onprogress: (progress: McpProgress) => void
}

export interface McpProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}
