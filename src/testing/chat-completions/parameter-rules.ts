import {
  type JsonFields,
  first,
  firstOf,
  invalidType,
  invalidValue,
  isFields,
  missingParameter,
  type ChatModel,
  problem,
  type ChatRefusal,
  strayIn,
  tooLong,
  tooShort,
} from './body.ts'

// Rules for all parameters of a request except the messages.

const parameters = [
  'model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens',
  'temperature top_p n stop presence_penalty frequency_penalty logit_bias logprobs top_logprobs seed user store',
  'metadata response_format reasoning_effort verbosity service_tier modalities audio prediction',
  'safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention web_search_options moderation',
].flatMap((line) => line.split(' '))

const mostTools = 128
const mostStops = 4

export const parametersProblem = (
  body: JsonFields,
  name: string,
  model: ChatModel,
): ChatRefusal | undefined =>
  first(
    () => strayIn(body, parameters, ''),
    () => toolsProblem(body['tools']),
    () => choiceProblem(body),
    () => limitProblem(body, name, model),
    () => stopProblem(body['stop']),
    () =>
      firstOf(ranges, ([field, least, most, isWhole]) => rangeProblem(body, field, { least, most, isWhole })),
    () => streamProblem(body, model),
    () => metadataProblem(body['metadata']),
    () =>
      [undefined, null, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].includes(
        body['reasoning_effort'] as string,
      )
        ? undefined
        : invalidValue('reasoning_effort', 'none, minimal, low, medium, high, xhigh or max'),
  )

const ranges: readonly (readonly [string, number, number, boolean])[] = [
  ['temperature', 0, 2, false],
  ['top_p', 0, 1, false],
  ['presence_penalty', -2, 2, false],
  ['frequency_penalty', -2, 2, false],
  ['n', 1, 128, true],
  ['top_logprobs', 0, 20, true],
]

const rangeProblem = (
  body: JsonFields,
  field: string,
  { least, most, isWhole }: { readonly least: number; readonly most: number; readonly isWhole: boolean },
): ChatRefusal | undefined => {
  const { [field]: value } = body
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || (isWhole && !Number.isInteger(value)))
    return invalidType(field, 'a number')
  return value < least || value > most ? invalidValue(field, `from ${least} to ${most}`) : undefined
}

const toolsProblem = (tools: unknown): ChatRefusal | undefined => {
  if (tools === undefined) return undefined
  if (!Array.isArray(tools)) return invalidType('tools', 'an array')
  if (tools.length === 0) return tooShort('tools')
  if (tools.length > mostTools) return tooLong('tools', mostTools, tools.length)
  const names = new Set<unknown>()
  return firstOf(tools as readonly unknown[], (tool, index) => toolProblem(tool, `tools[${index}]`, names))
}

const toolProblem = (tool: unknown, path: string, names: Set<unknown>): ChatRefusal | undefined => {
  if (!isFields(tool)) return invalidType(path, 'an object')
  const { type, function: made } = tool
  if (type !== 'function') return invalidValue(`${path}.type`, 'supported is function')
  if (!isFields(made)) return missingParameter(`${path}.function`)
  const { name, description, parameters: schema, strict } = made
  if (typeof name !== 'string') return missingParameter(`${path}.function.name`)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return invalidValue(`${path}.function.name`, 'letters, digits, _ and -, at most 64')
  if (names.has(name)) return invalidValue(`${path}.function.name`, 'each name once')
  names.add(name)
  return first(
    () => strayIn(tool, ['type', 'function'], path),
    () => strayIn(made, ['name', 'description', 'parameters', 'strict'], `${path}.function`),
    () =>
      description === undefined || typeof description === 'string'
        ? undefined
        : invalidType(`${path}.function.description`, 'a string'),
    () =>
      strict === undefined || strict === null || typeof strict === 'boolean'
        ? undefined
        : invalidType(`${path}.function.strict`, 'a boolean'),
    () => (schema === undefined ? undefined : schemaProblem(schema, name, `${path}.function.parameters`)),
  )
}

const schemaProblem = (schema: unknown, name: string, path: string): ChatRefusal | undefined => {
  const invalid = (why: string): ChatRefusal =>
    problem(path, 'invalid_function_parameters', `Invalid schema for function '${name}': ${why}.`)
  if (!isFields(schema)) return invalidType(path, 'an object')
  if (schema['type'] !== 'object')
    return invalid(`its type must be "object", not ${JSON.stringify(schema['type'])}`)
  if (!isFields(schema['properties'])) return invalid('object schema missing properties')
  const combined = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].find((key) => schema[key] !== undefined)
  if (combined !== undefined) return invalid(`${combined} is not allowed at the top level`)
  return lacksItems(schema) ? invalid('array schema missing items') : undefined
}

const lacksItems = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.some(lacksItems)
  if (!isFields(schema)) return false
  return (
    (schema['type'] === 'array' && schema['items'] === undefined) || Object.values(schema).some(lacksItems)
  )
}

const choiceProblem = (body: JsonFields): ChatRefusal | undefined => {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body
  for (const field of ['tool_choice', 'parallel_tool_calls'])
    if (tools === undefined && body[field] !== undefined)
      return problem(field, null, `'${field}' is only allowed when 'tools' are specified.`)
  if (parallel !== undefined && typeof parallel !== 'boolean')
    return invalidType('parallel_tool_calls', 'a boolean')
  if (choice === undefined || ['none', 'auto', 'required'].includes(choice as string)) return undefined
  const made = isFields(choice) && choice['type'] === 'function' ? choice['function'] : undefined
  if (!isFields(made)) return invalidValue('tool_choice', 'none, auto, required or a function')
  const isThere = (tools as readonly { readonly function: JsonFields }[]).some(
    (tool) => tool.function['name'] === made['name'],
  )
  return isThere ? undefined : invalidValue('tool_choice', `there is no tool ${String(made['name'])}`)
}

const limitProblem = (
  body: JsonFields,
  name: string,
  { maxTokens, maxOutput }: ChatModel,
): ChatRefusal | undefined => {
  const { max_tokens: old, max_completion_tokens: limit } = body
  if (old !== undefined && limit !== undefined)
    return problem(
      'max_tokens',
      'invalid_parameter',
      'Only one of max_tokens and max_completion_tokens may be set.',
    )
  if (old !== undefined && !maxTokens)
    return problem(
      'max_tokens',
      'unsupported_parameter',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
  const field = old === undefined ? 'max_completion_tokens' : 'max_tokens'
  const given = old ?? limit
  if (given === undefined || given === null) return undefined
  if (!Number.isInteger(given) || Number(given) < 1) return invalidValue(field, 'at least 1')
  return Number(given) > maxOutput
    ? invalidValue(field, `${name} gives at most ${maxOutput} completion tokens`)
    : undefined
}

const stopProblem = (stop: unknown): ChatRefusal | undefined => {
  if (stop === undefined || stop === null || typeof stop === 'string') return undefined
  if (!Array.isArray(stop)) return invalidType('stop', 'a string or an array')
  if (stop.length === 0) return tooShort('stop')
  if (stop.length > mostStops) return tooLong('stop', mostStops, stop.length)
  return stop.every((each) => typeof each === 'string') ? undefined : invalidType('stop', 'strings')
}

const streamProblem = (
  { stream, stream_options: options }: JsonFields,
  { refusesStreamOptions }: ChatModel,
): ChatRefusal | undefined => {
  if (refusesStreamOptions && options !== undefined)
    return {
      ...problem('stream_options', null, 'Extra inputs are not permitted: stream_options'),
      status: 422,
    }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
    return invalidType('stream', 'a boolean')
  if (options === undefined || options === null) return undefined
  if (stream !== true)
    return problem('stream_options', null, "'stream_options' is only allowed when 'stream' is enabled.")
  return isFields(options)
    ? strayIn(options, ['include_usage', 'include_obfuscation'], 'stream_options')
    : invalidType('stream_options', 'an object')
}

const metadataProblem = (metadata: unknown): ChatRefusal | undefined => {
  if (metadata === undefined || metadata === null) return undefined
  if (!isFields(metadata)) return invalidType('metadata', 'an object')
  const pairs = Object.entries(metadata)
  if (pairs.length > 16) return tooLong('metadata', 16, pairs.length)
  return firstOf(pairs, ([key, value]) =>
    key.length > 64 || typeof value !== 'string' || value.length > 512
      ? invalidValue(`metadata.${key}`, 'keys of 64 characters, texts of 512')
      : undefined,
  )
}
