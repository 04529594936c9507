import * as E from 'fp-ts/lib/Either.js'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { type Fields, isFields } from '../../events/json.ts'
import type { ToolFunction, ToolSettings, Tools } from './settings.ts'

interface Given {
  readonly tools?: readonly object[]
  readonly run?: Tools
}

/**
 * Splits the tools in `tools` into definitions (`tools`) and functions (`run`). Checks only for duplicate names.
 *
 * Errors: `InvalidInput`, if two tools have the same name.
 */
export const separate = <G extends Given>(options: G): E.Either<InvalidInput, G> => {
  if (!Array.isArray(options?.tools)) return E.right(options)
  const { tools, own } = taken(options.tools)
  const names = tools.map((each) => (isFields(each) ? each['name'] : undefined))
  // A name that makes the set no larger is in it already.
  const seen = new Set<unknown>()
  const second = names.findIndex((name) => name !== undefined && seen.size === seen.add(name).size)
  if (second >= 0)
    return E.left(
      invalidInput(
        `tools[${second}]`,
        `has the same name as another tool, ${String(names[second])}: rename one of them`,
      ),
    )
  if (own.length === 0) return E.right(options)
  const run: unknown = options.run === undefined ? {} : options.run
  for (const [name] of own) {
    if (isFields(run) && Object.hasOwn(run, name))
      return E.left(invalidInput(`run.${name}`, 'belongs to a tool that is already in tools: remove it here'))
  }
  return E.right({ ...options, tools, run: isFields(run) ? { ...Object.fromEntries(own), ...run } : run })
}

/**
 * Separates the tools' definitions from their functions. Stops after the first element that is not an object, because a sparse array
 * may have four billion holes.
 */
const taken = (given: readonly object[]) => {
  const tools: object[] = []
  const own: (readonly [string, ToolFunction | ToolSettings])[] = []
  for (const each of given) {
    const isOwn = isFields(each) && isTool(each)
    tools.push(isOwn ? each.definition : each)
    if (isOwn) own.push([String(each.definition['name']), settingsOf(each)])
    if (!isFields(each)) break
  }
  return { tools, own }
}

/** Tool whose settings are at the top level or in `run`. */
interface Whole {
  readonly definition: Fields
  readonly run: ToolFunction | ToolSettings
}

const isTool = (value: Fields): value is Fields & Whole => isFields(value['definition']) && 'run' in value

const settingsOf = (tool: Whole): ToolFunction | ToolSettings => {
  if (typeof tool.run !== 'function') return tool.run
  const { definition: _, ...settings } = { ...tool, run: tool.run }
  return settings
}
