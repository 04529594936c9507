import { type Fields, isFields } from '../../../../events/json.ts'
import { toolName } from './names.ts'
import type { ChatForm } from './types.ts'

/** Parameters of the Messages API that have no counterpart in Chat Completions. */
const elsewhere: ReadonlySet<string> = new Set([
  'betas',
  'cache_control',
  'container',
  'context_management',
  'inference_geo',
  'mcp_servers',
  'output_config',
  'speed',
])
const mostStops = 4

/**
 * Parameters of a Chat Completions request (`body`), and the names of the omitted ones (`dropped`). Unknown parameters are assumed to
 * be the endpoint's own, and kept.
 */
export interface ChatParameters {
  readonly body: Fields
  readonly dropped: readonly string[]
}

export const parametersOf = (parameters: Fields, form: ChatForm, hasTools: boolean): ChatParameters => {
  const body: Record<string, unknown> = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(parameters)) {
    const fields = elsewhere.has(name) ? undefined : counterpart(name, value, { form, hasTools })
    if (fields) Object.assign(body, fields)
    else dropped.push(name)
  }
  return { body, dropped }
}

const counterpart = (
  name: string,
  value: unknown,
  { form, hasTools }: { readonly form: ChatForm; readonly hasTools: boolean },
): Fields | undefined => {
  switch (name) {
    case 'max_tokens':
      return { [form.limit ?? 'max_completion_tokens']: value }
    case 'stop_sequences':
      return Array.isArray(value) && value.length > 0 ? { stop: value.slice(0, mostStops) } : undefined
    // Allowed only in requests with tools, in the form of either API.
    case 'tool_choice':
      return hasTools ? choiceOf(value) : undefined
    case 'parallel_tool_calls':
      return hasTools ? { [name]: value } : undefined
    case 'thinking':
      return isMessagesThinking(value) ? undefined : { [name]: value }
    // In the Messages API, `metadata` has only a user id. In Chat Completions, it has any fields, for stored completions.
    case 'metadata':
      return isFields(value) && Object.keys(value).join() === 'user_id' ? undefined : { [name]: value }
    case 'service_tier':
      return { [name]: value === 'standard_only' ? 'default' : value }
    default:
      return { [name]: value }
  }
}

/**
 * Reports whether a value is the Messages API's `thinking` parameter. Compatible endpoints have a parameter of the same name, but
 * without a budget.
 */
const isMessagesThinking = (value: unknown): boolean =>
  !isFields(value) || value['type'] !== 'enabled' || 'budget_tokens' in value

const modes: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' }

const choiceOf = (choice: unknown): Fields => {
  if (!isFields(choice) || 'function' in choice) return { tool_choice: choice }
  const { type, name, disable_parallel_tool_use: isSingle } = choice
  const single = isSingle === true ? { parallel_tool_calls: false } : {}
  if (type === 'tool' && typeof name === 'string')
    return { tool_choice: { type: 'function', function: { name: toolName(name) } }, ...single }
  return { tool_choice: modes[String(type)] ?? choice, ...single }
}
