import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { tryCatch } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { errorText } from '../models/error-text.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import { longestTimer } from '../../result/timers.ts'
import { withoutUnions } from './input-schema.ts'
import { callMcp, type McpClient, type McpPage, type McpProgress, type McpTool } from './mcp-client.ts'
import { type McpNameOptions, renameTools, type ToolNameTaken } from './mcp-names.ts'
import { settingsShape, type ToolSettings } from './settings.ts'
import type { Tool, ToolDefinition } from './tool.ts'

/** Options for turning the tools of an MCP server into tools of a turn. */
export interface McpOptions extends McpNameOptions, Pick<ToolSettings, 'timeout'> {
  /**
   * True to trust the server's hints: a tool with `readOnlyHint` has the effect `none` and needs no approval, one with `idempotentHint`
   * has the effect `idempotent`. Default false: every effect is `unsafe`.
   */
  readonly trustHints?: boolean | undefined
  /**
   * Requirement for approval of a call. Default: calls need approval if the server declares the tool destructive (`destructiveHint:
   * true`).
   */
  readonly approve?: ToolSettings['approve']
}

/** Error: the tools of the MCP server could not be listed. */
export interface McpFailed {
  readonly _tag: 'McpFailed'
  readonly message: string
  readonly cause?: unknown
}

export type McpError = InvalidInput | McpFailed | ToolNameTaken

const optionsSchema = z.strictObject({
  prefix: z.string().optional(),
  rename: z
    .custom((value) => typeof value === 'function', { error: 'must be a function that takes a name' })
    .optional(),
  trustHints: z.boolean().optional(),
  approve: settingsShape.approve,
  timeout: settingsShape.timeout,
})

/**
 * Returns the tools that an MCP server currently lists. The caller owns the client: connect it before this call, and close it after the
 * turns.
 *
 * Errors: `McpFailed`, `ToolNameTaken`, `InvalidInput`.
 */
export const mcpTools = (
  client: McpClient,
  options: McpOptions = {},
): TaskEither<McpError, readonly Tool[]> => task(() => toolsOf(client, options))

async function* toolsOf(client: McpClient, options: McpOptions): Fallible<McpError, readonly Tool[]> {
  yield* unwrap(check(optionsSchema, options))
  const listed = yield* list(client)
  const named = yield* unwrap(renameTools(listed, options))
  return [...named].map(([name, tool]) => ({
    ...settingsOf(tool, options),
    definition: definitionOf(name, tool),
    run: (input, { signal, progress }) =>
      callMcp(
        client,
        { name: tool.name, arguments: input as { [field: string]: unknown } },
        // The turn enforces its own time limit.
        { signal, timeout: longestTimer, onprogress: (told) => progress(progressText(told)) },
      ).then(resultOf),
  }))
}

async function* list(client: McpClient): Fallible<McpFailed, readonly McpTool[]> {
  const tools: McpTool[] = []
  const seen = new Set<string>()
  for (let cursor: string | undefined; ;) {
    const page: McpPage = yield* unwrap(
      tryCatch(
        () => client.listTools(cursor === undefined ? undefined : { cursor }),
        (cause) => mcpFailed(errorText(cause), cause),
      ),
    )
    tools.push(...page.tools)
    cursor = page.nextCursor
    if (!cursor) return tools
    if (seen.has(cursor)) return yield mcpFailed('it returns the same page repeatedly')
    seen.add(cursor)
  }
}

const definitionOf = (name: string, { description, inputSchema }: McpTool): ToolDefinition => ({
  name,
  ...(description?.trim() && { description }),
  input_schema: withoutUnions(inputSchema),
})

const settingsOf = (
  { annotations = {} }: McpTool,
  { trustHints = false, approve, timeout }: McpOptions,
): Omit<ToolSettings, 'run'> => {
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations
  const isReading = trustHints && readOnlyHint === true
  const isRepeatable = trustHints && idempotentHint === true
  return {
    effect: isReading ? 'none' : isRepeatable ? 'idempotent' : 'unsafe',
    approve: approve ?? (destructiveHint === true && !isReading),
    ...(timeout !== undefined && { timeout }),
  }
}

const progressText = ({ progress, total, message }: McpProgress): string =>
  message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)

/** Extracts the result of a tool call. A server of the first protocol version returns only `toolResult`. */
const resultOf = (result: unknown): unknown => {
  if (!isFields(result)) return result
  const { content, isError, structuredContent, toolResult }: Fields = result
  return content === undefined ? toolResult : { content, isError, structuredContent }
}

const mcpFailed = (problem: string, cause?: unknown): McpFailed => ({
  _tag: 'McpFailed',
  message: `the tools of the MCP server cannot be listed (${problem}): connect the client first, and try again`,
  ...(cause !== undefined && { cause }),
})
