import {
  type ChatRefusal,
  first,
  firstOf,
  invalidType,
  isFields,
  type JsonFields,
  missingParameter,
  problem,
  strayIn,
} from '../chat-completions/body.ts'

// The rules for requests of OpenAI's Responses API: those of its published types (openai 7.57.0), and errors quoted in public issues.

/** An item of a request's `input` or of a response's `output`. */
export interface ResponseItem extends JsonFields {
  readonly type: string
}
/** Body of a valid request. */
export interface ResponsesRequest extends JsonFields {
  readonly model: string
  /** Items of the request; a string is one message of the user. */
  readonly input: string | readonly JsonFields[]
  readonly stream?: boolean | null
  readonly include?: readonly string[] | null
}

// `client_metadata` is not in the published types, but Codex sends it.
const parameters =
  'access_programs background client_metadata context_management conversation image include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user'.split(
    ' ',
  )
const toolTypes =
  'function custom namespace web_search web_search_preview file_search computer computer_use_preview code_interpreter image_generation local_shell shell apply_patch mcp tool_search programmatic_tool_calling'.split(
    ' ',
  )
const itemTypes =
  'message reasoning function_call function_call_output custom_tool_call custom_tool_call_output item_reference compaction web_search_call file_search_call computer_call computer_call_output code_interpreter_call image_generation_call local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output mcp_list_tools mcp_approval_request mcp_approval_response mcp_call tool_search_call tool_search_output additional_tools configuration_update compaction_trigger program program_output'.split(
    ' ',
  )
const partTypes: Readonly<Record<string, readonly string[]>> = {
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  system: ['input_text', 'input_image', 'input_file'],
  developer: ['input_text', 'input_image', 'input_file'],
  assistant: ['output_text', 'refusal'],
}
/** Required string fields, and the beginning of the id, by type of item. */
const itemForms: Readonly<Record<string, { readonly strings: readonly string[]; readonly id: string }>> = {
  message: { strings: [], id: 'msg' },
  function_call: { strings: ['call_id', 'name', 'arguments'], id: 'fc' },
  function_call_output: { strings: ['call_id'], id: 'fc' },
  custom_tool_call: { strings: ['call_id', 'name', 'input'], id: 'ctc' },
  custom_tool_call_output: { strings: ['call_id'], id: 'ctc' },
  reasoning: { strings: [], id: 'rs' },
  item_reference: { strings: ['id'], id: '' },
}

/** Returns a value as an error message shows it. */
const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const maxInput = 10_000

const invalid = (param: string, value: unknown, allowed: readonly string[]): ChatRefusal =>
  problem(
    param,
    'invalid_value',
    `Invalid value: '${shown(value)}'. Supported values are: ${allowed.map((each) => `'${each}'`).join(', ')}.`,
  )

/** Returns the items of a request. A string is one message of the user, and an item without a type is a message. */
export const itemsOf = ({ input }: ResponsesRequest): readonly ResponseItem[] =>
  typeof input === 'string'
    ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
    : input.map((item) => ({ type: 'message', ...item }))

const contentProblem = (content: unknown, role: string, path: string): ChatRefusal | undefined => {
  if (content === undefined) return missingParameter(path)
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return invalidType(path, 'one of an array of objects or string')
  const allowed = partTypes[role] ?? []
  return firstOf(content, (part: unknown, at) => {
    const where = `${path}[${at}]`
    if (!isFields(part)) return invalidType(where, 'an object')
    const { type } = part
    if (typeof type !== 'string') return missingParameter(`${where}.type`)
    if (!allowed.includes(type)) return invalid(`${where}.type`, type, allowed)
    const name = type === 'refusal' ? 'refusal' : 'text'
    return type.endsWith('text') && typeof part[name] !== 'string'
      ? missingParameter(`${where}.${name}`)
      : undefined
  })
}

const itemProblem = (item: unknown, path: string): ChatRefusal | undefined => {
  if (!isFields(item)) return invalidType(path, 'an object')
  const { type = 'message', role, id } = item
  if (typeof type !== 'string' || !itemTypes.includes(type)) return invalid(`${path}.type`, type, itemTypes)
  const form = itemForms[type]
  const missing = form?.strings.find((name) => typeof item[name] !== 'string')
  if (missing !== undefined)
    return item[missing] === undefined
      ? missingParameter(`${path}.${missing}`)
      : invalidType(`${path}.${missing}`, 'a string')
  if (form && typeof id === 'string' && !id.startsWith(form.id))
    return problem(
      `${path}.id`,
      'invalid_value',
      `Invalid '${path}.id': '${id}'. Expected an ID that begins with '${form.id}'.`,
    )
  if (type === 'message')
    return typeof role === 'string' && Object.hasOwn(partTypes, role)
      ? contentProblem(item['content'], role, `${path}.content`)
      : invalid(`${path}.role`, role, Object.keys(partTypes))
  if (type.endsWith('_call_output') && form) {
    const { output } = item
    if (output === undefined) return missingParameter(`${path}.output`)
    return typeof output === 'string' || Array.isArray(output)
      ? undefined
      : invalidType(`${path}.output`, 'one of an array of objects or string')
  }
  return type === 'reasoning' && !Array.isArray(item['summary'])
    ? missingParameter(`${path}.summary`)
    : undefined
}

/** A call needs a later output, and an output an earlier call. */
const pairProblem = (items: readonly ResponseItem[]): ChatRefusal | undefined => {
  for (const [call, output, words] of [
    ['function_call', 'function_call_output', 'function call'],
    ['custom_tool_call', 'custom_tool_call_output', 'custom tool call'],
  ] as const) {
    const open = new Set<unknown>()
    const called = new Set<unknown>()
    for (const { type, call_id: id } of items) {
      if (type === call) {
        open.add(id)
        called.add(id)
      }
      if (type !== output) continue
      if (!called.has(id))
        return problem('input', null, `No tool call found for ${words} output with call_id ${shown(id)}.`)
      open.delete(id)
    }
    const [left] = open
    if (left !== undefined) return problem('input', null, `No tool output found for ${words} ${shown(left)}.`)
  }
  return undefined
}

const stored = (id: unknown): ChatRefusal => ({
  ...problem(
    'input',
    null,
    `Item with id '${shown(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
  ),
  status: 404,
})

/** Reasoning must be sealed, as nothing is stored here, and stand before the reply that it led to. */
const reasoningProblem = (
  items: readonly ResponseItem[],
  isSealed: (text: string) => boolean,
): ChatRefusal | undefined => {
  const ids = new Set<unknown>()
  for (const [index, { type, id, encrypted_content: sealed }] of items.entries()) {
    if (id !== undefined && ids.has(id))
      return problem(
        'input',
        null,
        `Duplicate item found with id ${shown(id)}. Remove duplicate items from your input and try again.`,
      )
    if (id !== undefined) ids.add(id)
    if (type === 'item_reference') return stored(id)
    if (type !== 'reasoning') continue
    if (typeof sealed !== 'string') return stored(id)
    if (!isSealed(sealed))
      return problem(
        null,
        'invalid_encrypted_content',
        `The encrypted content ${sealed.slice(0, 4)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      )
    const next = items[index + 1]
    const follows =
      next !== undefined && !next.type.endsWith('_output') && (next['role'] ?? 'assistant') === 'assistant'
    if (!follows)
      return problem(
        'input',
        null,
        `Item '${shown(id)}' of type 'reasoning' was provided without its required following item.`,
      )
  }
  return undefined
}

const toolProblem = (tool: unknown, index: number): ChatRefusal | undefined => {
  const path = `tools[${index}]`
  if (!isFields(tool)) return invalidType(path, 'an object')
  const { type, name, parameters: schema } = tool
  if (typeof type !== 'string') return missingParameter(`${path}.type`)
  if (!toolTypes.includes(type)) return invalid(`${path}.type`, type, toolTypes)
  if (type !== 'function' && type !== 'custom' && type !== 'namespace') return undefined
  if (typeof name !== 'string') return missingParameter(`${path}.name`)
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    return problem(
      `${path}.name`,
      'invalid_value',
      `Invalid '${path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    )
  return type === 'function' && schema !== undefined && schema !== null && !isFields(schema)
    ? invalidType(`${path}.parameters`, 'an object')
    : undefined
}

/**
 * Returns the first problem with a request.
 *
 * @param isSealed reports whether an encrypted reasoning came from this server
 */
export const requestProblem = (
  body: unknown,
  isSealed: (text: string) => boolean,
): ChatRefusal | undefined => {
  if (!isFields(body)) return invalidType('body', 'an object')
  const { model, input, tools, previous_response_id: previous } = body
  return first(
    () => strayIn(body, parameters, ''),
    () => (typeof model === 'string' ? undefined : missingParameter('model')),
    () => (input === undefined ? missingParameter('input') : undefined),
    () => {
      if (previous === undefined || previous === null) return undefined
      const id = shown(previous)
      return problem(
        'previous_response_id',
        'previous_response_not_found',
        `Previous response with id '${id}' not found.`,
      )
    },
    () => {
      if (typeof input === 'string') return undefined
      if (!Array.isArray(input)) return invalidType('input', 'one of an array of objects or string')
      if (input.length > maxInput)
        return problem(
          'input',
          'array_above_max_length',
          `Invalid 'input': array too long. Expected an array with maximum length ${maxInput}, but got an array with length ${input.length} instead.`,
        )
      return firstOf(input, (item: unknown, index) => itemProblem(item, `input[${index}]`))
    },
    () => {
      if (tools === undefined || tools === null) return undefined
      return Array.isArray(tools) ? firstOf(tools, toolProblem) : invalidType('tools', 'an array of objects')
    },
    () => pairProblem(itemsOf(body as ResponsesRequest)),
    () => reasoningProblem(itemsOf(body as ResponsesRequest), isSealed),
  )
}
