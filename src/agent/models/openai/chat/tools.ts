import { type Fields, isFields } from '../../../../events/json.ts'
import type { ModelRequest } from '../../model.ts'
import { toolName } from './names.ts'
import type { ChatReport, ChatTool } from './types.ts'

const mostTools = 128
const translated: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
])

/**
 * Translates the tools that run on the caller's side; Chat Completions supports no others. Returns undefined instead of an empty list,
 * which the API refuses.
 */
export const toolsOf = (
  tools: NonNullable<ModelRequest['tools']>,
  report: ChatReport,
): readonly ChatTool[] | undefined => {
  const own = tools.filter((tool) => {
    const { type } = tool
    const isOwn = type === undefined || type === 'custom'
    if (!isOwn) report('tool-dropped', `${JSON.stringify(type)} runs in another API`)
    return isOwn
  })
  if (own.length > mostTools)
    report('tool-dropped', `${own.length - mostTools} of ${own.length} tools: ${mostTools} are allowed`)
  const made = own.slice(0, mostTools).map((tool) => toolOf(tool, report))
  return made.length > 0 ? made : undefined
}

const toolOf = (tool: Fields, report: ChatReport): ChatTool => {
  const { description, input_schema: schema, strict } = tool
  const given = String(tool['name'])
  const name = toolName(given)
  if (name !== given) report('name-replaced', `the tool ${given} is sent as ${name}`)
  if ('cache_control' in tool)
    report('cache-control-dropped', `of the tool ${given}: the API caches by itself`)
  const left = Object.keys(tool).filter((field) => !translated.has(field))
  if (left.length > 0) report('field-dropped', `${left.join(', ')} of the tool ${given}`)
  const shape = isFields(schema) ? schema : {}
  const parameters = withItems({ ...shape, type: 'object', properties: shape['properties'] ?? {} }) as Fields
  if (JSON.stringify(parameters) !== JSON.stringify(shape)) report('schema-completed', `of the tool ${given}`)
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      parameters,
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

/** Adds `items` to every array schema that lacks it, because the API requires this field. */
const withItems = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withItems)
  if (!isFields(schema)) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withItems(value)]))
  return inner['type'] === 'array' && inner['items'] === undefined ? { ...inner, items: {} } : inner
}
