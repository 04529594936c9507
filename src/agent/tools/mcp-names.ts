import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { McpTool } from './mcp-client.ts'

/** Error: two tools would have the same name for the model. */
export interface ToolNameTaken {
  readonly _tag: 'ToolNameTaken'
  readonly message: string
  /** The name in conflict. */
  readonly taken: string
  /** Names of the two tools on the server. */
  readonly tools: readonly [string, string]
}

export interface McpNameOptions {
  /** Prefix of every name, used verbatim. Default: none. */
  readonly prefix?: string | undefined
  /**
   * Returns the name to use for a tool of the server, before the prefix is added; undefined to omit the tool. Default: the server's
   * name.
   */
  readonly rename?: ((name: string) => string | undefined) | undefined
}

/** Returns the tools by the name that the model sees; `ToolNameTaken` if two tools would have the same name. */
export const renameTools = (
  tools: readonly McpTool[],
  { prefix = '', rename = (name) => name }: McpNameOptions,
): E.Either<ToolNameTaken, ReadonlyMap<string, McpTool>> => {
  const named = new Map<string, McpTool>()
  for (const tool of tools) {
    const called = rename(tool.name)
    if (called === undefined) continue
    const name = validName(`${prefix}${called}`)
    const other = named.get(name)
    if (other) return E.left(toolNameTaken(name, other.name, tool.name))
    named.set(name, tool)
  }
  return E.right(named)
}

/** Converts a name into one that the API accepts. The same name always gives the same result. */
const validName = (name: string): string => {
  const valid = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'
  if (valid.length <= longest) return valid
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${valid.slice(0, longest - 1 - mark.length)}_${mark}`
}

const longest = 64

const toolNameTaken = (taken: string, one: string, other: string): ToolNameTaken => ({
  _tag: 'ToolNameTaken',
  message: `${JSON.stringify(one)} and ${JSON.stringify(other)} would both be named ${taken} for the model: rename one of them with the option rename`,
  taken,
  tools: [one, other],
})
