import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { McpTool } from './mcp-client.ts'

/** Two tools would have the same name. */
export interface ToolNameTaken {
  readonly _tag: 'ToolNameTaken'
  readonly message: string
  /** The name. */
  readonly taken: string
  /** The two, as the server names them. */
  readonly tools: readonly [string, string]
}

export interface McpNameOptions {
  /** Comes before every name, as it is. Default: nothing. */
  readonly prefix?: string | undefined
  /** What to call a tool of the server, before the prefix is added; undefined leaves it out. Default: as the server calls it. */
  readonly rename?: ((name: string) => string | undefined) | undefined
}

/** The tools by the names that the model gets to know. */
export const namedTools = (
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

/** What the API accepts in the place of a name: the same name is always replaced by the same. */
const validName = (name: string): string => {
  const valid = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'
  if (valid.length <= longest) return valid
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${valid.slice(0, longest - 1 - mark.length)}_${mark}`
}

const longest = 64

const toolNameTaken = (taken: string, one: string, other: string): ToolNameTaken => ({
  _tag: 'ToolNameTaken',
  message: `${JSON.stringify(one)} and ${JSON.stringify(other)} would both be named ${taken} for the model: give one another name with rename`,
  taken,
  tools: [one, other],
})
