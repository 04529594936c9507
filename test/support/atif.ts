interface Fields {
  readonly [field: string]: unknown
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const optional =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || check(value)
const listOf =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(check)

/** Reports whether a value has these fields, each as it must be, and no others. */
const only =
  (fields: Readonly<Record<string, (value: unknown) => boolean>>) =>
  (value: unknown): boolean =>
    isObject(value) &&
    Object.keys(value).every((name) => name in fields) &&
    Object.entries(fields).every(([name, check]) => check(value[name]))

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const isPart = (part: unknown): boolean =>
  only({ type: (type) => type === 'text', text: isText })(part) ||
  only({
    type: (type) => type === 'image',
    source: only({ media_type: (type) => imageTypes.has(String(type)), path: isText }),
  })(part)
const isContent = (value: unknown): boolean => isText(value) || listOf(isPart)(value)
const isTime = (value: unknown): boolean => isText(value) && !Number.isNaN(Date.parse(String(value)))

const isStep = only({
  step_id: isCount,
  timestamp: optional(isTime),
  source: (source) => ['system', 'user', 'agent'].includes(String(source)),
  model_name: optional(isText),
  message: isContent,
  reasoning_content: optional(isText),
  tool_calls: optional(listOf(only({ tool_call_id: isText, function_name: isText, arguments: isObject }))),
  observation: optional(
    only({ results: listOf(only({ source_call_id: optional(isText), content: optional(isContent) })) }),
  ),
  metrics: optional(only({ prompt_tokens: isCount, completion_tokens: isCount, cached_tokens: isCount })),
  extra: optional(isObject),
})
const isTrajectory = only({
  schema_version: (version) => version === 'ATIF-v1.6',
  session_id: isText,
  agent: only({
    name: isText,
    version: isText,
    model_name: optional(isText),
    tool_definitions: optional(listOf(isObject)),
  }),
  steps: listOf(isStep),
  final_metrics: optional(
    only({
      total_prompt_tokens: optional(isCount),
      total_completion_tokens: optional(isCount),
      total_cached_tokens: optional(isCount),
      total_steps: isCount,
    }),
  ),
})
const ofAgents = ['model_name', 'reasoning_content', 'tool_calls', 'metrics']

/** What a trajectory breaks of the rules of Harbor's own validator for version 1.6. */
export const atifProblems = (trajectory: Fields): readonly string[] => {
  if (!isTrajectory(trajectory)) return ['a field is missing, unknown or of a wrong type']
  const steps = trajectory['steps'] as readonly Fields[]
  return [
    ...(steps.length === 0 ? ['no steps'] : []),
    ...steps.flatMap((step, index) => {
      const { step_id: id, source, tool_calls: calls = [], observation } = step
      const made = new Set((calls as readonly Fields[]).map((call) => call['tool_call_id']))
      const results = isObject(observation) ? (observation['results'] as readonly Fields[]) : []
      return [
        ...(id === index + 1 ? [] : [`step ${index + 1} has the id ${String(id)}`]),
        ...(source === 'agent' ? [] : ofAgents.filter((field) => step[field] !== undefined)),
        ...results
          .filter((result) => !made.has(result['source_call_id']))
          .map(() => 'a result without its call'),
      ]
    }),
  ]
}
