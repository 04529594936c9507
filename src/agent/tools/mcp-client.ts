/**
 * Subset of a connected MCP client that Palimpsest uses: `Client` of `@modelcontextprotocol/sdk`, or of `@modelcontextprotocol/client`,
 * the next version, whose `callTool` takes no schema.
 */
export interface McpClient {
  listTools(params?: { readonly cursor: string }): Promise<McpPage>
  callTool(params: McpCall, resultSchema: undefined, options: McpRequest): Promise<unknown>
}

export interface McpPage {
  readonly tools: readonly McpTool[]
  readonly nextCursor?: string | undefined
}

/** Tool as its MCP server describes it. */
export interface McpTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: { readonly [field: string]: unknown }
  readonly annotations?: McpHints | undefined
}

/** Hints of an MCP server about a tool. They are only as trustworthy as the server. */
export interface McpHints {
  readonly readOnlyHint?: boolean | undefined
  readonly destructiveHint?: boolean | undefined
  readonly idempotentHint?: boolean | undefined
}

// A type alias, not an interface, because early SDK versions require an index signature.
export type McpCall = {
  readonly name: string
  readonly arguments: { [field: string]: unknown }
}

export interface McpRequest {
  readonly signal: AbortSignal
  /** Time limit in milliseconds. */
  readonly timeout: number
  readonly onprogress: (progress: McpProgress) => void
}

export interface McpProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** Client of the next version, whose `callTool` takes no schema. */
interface NextClient {
  callTool(params: McpCall, options: McpRequest): Promise<unknown>
}

const isNext = (client: McpClient | NextClient): client is NextClient => client.callTool.length === 2

/** Calls a tool through an MCP client of either SDK version. */
export const callMcp = (
  client: McpClient | NextClient,
  call: McpCall,
  request: McpRequest,
): Promise<unknown> =>
  isNext(client) ? client.callTool(call, request) : client.callTool(call, undefined, request)
