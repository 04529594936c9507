import type { Configuration, Origin } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { hasImageFiles, readStep, type StepContent } from './atif-steps.ts'
import { hasSubagent, subagentOf } from './claude-code-beside.ts'
import type { DocumentFormat } from './format.ts'
import { entriesOfList, leaveOutFields, listActions, type ListedMessage, planOf } from './messages.ts'
import { toolOf } from './openai-blocks.ts'
import type { ConversationPlan, PlannedNote } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { type FileEntry, idOf, type ImportNotes, stringOf, timeOf } from './source.ts'

const known = new Set([
  'step_id',
  'timestamp',
  'source',
  'model_name',
  'message',
  'reasoning_content',
  'tool_calls',
  'observation',
  'metrics',
  'is_copied_context',
  'extra',
])

/** Reports whether an object is a trajectory of any version of the format. */
export const isTrajectory = ({ schema_version: version, steps }: Fields): boolean =>
  typeof version === 'string' && version.startsWith('ATIF-v') && Array.isArray(steps)

/** Format for trajectories of agents (Agent Trajectory Interchange Format), as Harbor writes them. */
export const atif: DocumentFormat = {
  name: 'atif',
  recognises: (_, owner) => isTrajectory(owner),
  parse: (draft, notes, shelf) => {
    const plans: ConversationPlan[] = []
    const waiting = [{ ...draft, links: [] as PlannedNote[] }]
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { owner, messages, links } = next
      const [plan] = planOfTrajectory(owner, messages, { notes, shelf })
      const id = plan?.id ?? idOf(nameOf(owner) ?? 'atif')
      const children = subagentsIn(owner)
      for (const child of children.values()) {
        const named = { ...child, session_id: `${id}:${nameOf(child)}` }
        const steps = entriesOfList(child['steps'], messages[0]?.line ?? 1, notes)
        waiting.push({ owner: named, messages: steps, links: [subagentOf(id, undefined)] })
      }
      if (!plan) continue
      plans.push({ ...plan, notes: [...links, ...startsIn(messages, children, id)] })
    }
    return plans
  },
}

const nameOf = ({ trajectory_id: id, session_id: session }: Fields): string | undefined =>
  stringOf(id) ?? stringOf(session)

/** Returns the trajectories of subagents that a trajectory contains, by their name. */
const subagentsIn = ({ subagent_trajectories: list }: Fields): ReadonlyMap<string, Fields> =>
  new Map(
    (Array.isArray(list) ? list : [])
      .filter((each): each is Fields => isFields(each) && Array.isArray(each['steps']))
      .map((each, index) => [nameOf(each) ?? `subagent-${index + 1}`, each] as const)
      .map(([name, each]) => [name, { ...each, trajectory_id: name }] as const),
  )

/** Returns the links to the subagents of a trajectory, each with its call. */
const startsIn = (
  steps: readonly FileEntry[],
  children: ReadonlyMap<string, Fields>,
  id: string,
): readonly PlannedNote[] => {
  const links = new Map<string, PlannedNote>()
  for (const { fields } of steps)
    for (const result of resultsIn(fields))
      for (const child of Array.isArray(result['subagent_trajectory_ref'])
        ? result['subagent_trajectory_ref']
        : []) {
        const name = isFields(child) ? nameOf(child) : undefined
        const call = stringOf(result['source_call_id'])
        if (name === undefined || call === undefined || !children.has(name)) continue
        const link = hasSubagent(idOf(`${id}:${name}`), call)
        links.set(link.ref, link)
      }
  return [...links.values()]
}

const resultsIn = ({ observation }: Fields): readonly Fields[] =>
  isFields(observation) && Array.isArray(observation['results'])
    ? observation['results'].filter(isFields)
    : []

const planOfTrajectory = (
  owner: Fields,
  steps: readonly FileEntry[],
  { notes, shelf }: { readonly notes: ImportNotes; readonly shelf: Shelf },
): readonly ConversationPlan[] => {
  const { agent, continued_trajectory_ref: next } = owner
  if (stringOf(next) !== undefined) notes.note(`the trajectory continues in another file: ${String(next)}`)
  const read = steps.map(({ line, fields }) => ({ line, fields, seen: readStep(fields) }))
  const start = read.findIndex(({ fields, seen }) => seen.role !== 'system' || hasOwn(fields))
  const leading = start < 0 ? read : read.slice(0, start)
  const listed: ListedMessage[] = []
  for (const { line, fields, seen } of read.slice(leading.length)) {
    const { role, content, results } = seen
    leaveOutFields(fields, known, notes)
    if (hasImageFiles(fields)) notes.note('some images are in other files: a text names each')
    const time = timeOf(fields['timestamp'])
    const place = { line, kind: String(fields['source']), ...(time !== undefined && { time }) }
    const origin = role === 'assistant' ? originOf(fields) : undefined
    if (content.length > 0) listed.push({ ...place, said: { role, content, ...(origin && { origin }) } })
    if (results.length > 0) listed.push({ ...place, said: { role: 'user', content: results } })
    if (content.length + results.length === 0)
      notes.leftOut(`step of ${place.kind}`, 'the model sees nothing of it')
  }
  const configuration = configurationOf(
    isFields(agent) ? agent : {},
    leading.map(({ seen }) => seen),
  )
  for (const _ of leading) notes.mapped('step of system, leading')
  const name = { owner: { id: stringOf(owner['session_id']) ?? nameOf(owner) }, messages: steps }
  return planOf('atif', name, listActions(configuration, listed, { notes, shelf }))
}

/** Reports whether an export of Palimpsest wrote down the blocks of a step, which is then a message also if it is the system's. */
const hasOwn = ({ extra }: Fields): boolean => isFields(extra) && isFields(extra['palimpsest'])

const configurationOf = (agent: Fields, leading: readonly StepContent[]): Configuration => {
  const { model_name: model, tool_definitions: tools } = agent
  const blocks = leading.flatMap(({ content }) => content)
  const [only] = blocks
  return {
    ...(only && { system: blocks.length === 1 && typeof only['text'] === 'string' ? only['text'] : blocks }),
    ...(Array.isArray(tools) && tools.length > 0 && { tools: tools.filter(isFields).map(toolOf) }),
    ...(stringOf(model) !== undefined && { model: String(model) }),
  }
}

const originOf = ({ model_name: model, metrics }: Fields): Origin => {
  const {
    prompt_tokens: prompt,
    completion_tokens: output,
    cached_tokens: cached,
  } = isFields(metrics) ? metrics : {}
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
  return {
    ...(stringOf(model) !== undefined && { model: String(model) }),
    ...(isFields(metrics) && {
      usage: {
        input_tokens: Math.max(0, number(prompt) - number(cached)),
        cache_read_input_tokens: number(cached),
        output_tokens: number(output),
      },
    }),
  }
}
