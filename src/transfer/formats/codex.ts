import { commitForm, type Configuration, type Message, type Workspace } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { actionsOn } from './actions.ts'
import { beginsTurn, isContext, messageOfItem, messagesOfItems } from './codex-items.ts'
import { hasAll, type LineFormat } from './format.ts'
import type { ActionBody, ConversationPlan, PlannedNote } from './plan.ts'
import type { Shelf } from './shelf.ts'
import {
  createFileStart,
  entriesIn,
  type FileEntry,
  idOf,
  type ImportNotes,
  type LineReader,
  messageProblem,
  placeIn,
  sameEntry,
  stringOf,
  timeOf,
} from './source.ts'

/** An action on the path that the model sees, or that a compaction hides. */
interface Step {
  readonly ref: string
  /** Index of the action. */
  readonly index: number
  readonly kind: 'turn' | 'context' | 'message' | 'condense' | 'configure'
  readonly configuration: Configuration
}

const types = new Set<unknown>([
  'session_meta',
  'turn_context',
  'response_item',
  'event_msg',
  'compacted',
  'world_state',
  'inter_agent_communication',
])

/** Format for rollouts of Codex since September 2025, in which each line has a time, a type and a payload. */
export const codex: LineFormat = {
  name: 'codex',
  recognises: (fields) => types.has(fields['type']) && hasAll(fields, 'payload'),
  read: (notes, shelf) => readCodex(notes, shelf),
}

/**
 * Reads a rollout: items of the Responses API; compactions, each of which replaces everything before it; and rollbacks of turns. A
 * rollback continues from before the turn, also if a compaction has hidden it since.
 */
const readCodex = (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
  const actions = actionsOn(shelf)
  const links: PlannedNote[] = []
  let path: Step[] = []
  let meta: Fields | undefined
  /** State of the files when the session began, until the first action has it. */
  let workspace: Workspace | undefined
  const begin = createFileStart()
  /** Index of the reply that the next item of the model belongs to. */
  let open: number | undefined
  /** Index of the last reply without usage. */
  let unmetered: number | undefined
  let isMetered = false

  const configuration = (): Configuration => path.at(-1)?.configuration ?? {}
  const add = (entry: FileEntry, body: ActionBody, step: Partial<Step> = {}, part = ''): void => {
    const time = timeOf(entry.fields['timestamp'])
    const ref = placeIn(entry) + part
    const index = actions.count()
    actions.add({ ref, ...(time !== undefined && { time }), ...(workspace && { workspace }), ...body })
    workspace = undefined
    open = undefined
    if (body.type !== 'rewind')
      path.push({ ref, index, kind: 'message', configuration: configuration(), ...step })
  }

  const configure = (entry: FileEntry, changes: Configuration): void => {
    const now = configuration()
    const next = { ...now, ...changes }
    if (JSON.stringify(next) !== JSON.stringify(now))
      add(entry, { type: 'configure', configuration: next }, { kind: 'configure', configuration: next })
  }

  const say = (entry: FileEntry, message: Message, kind = kindOf(message), part = ''): boolean => {
    const problem = messageProblem(message)
    if (problem !== undefined) {
      notes.bad(entry.line, problem)
      return false
    }
    const { role, content } = message
    if (role !== 'assistant') {
      add(entry, { type: 'message', message }, { kind }, part)
    } else if (open === undefined) {
      const { model } = configuration()
      add(entry, { type: 'message', message: { ...message, ...(model && { origin: { model } }) } }, {}, part)
      unmetered = open = actions.count() - 1
    } else actions.extend(open, { content, origin: undefined })
    return true
  }

  const readItem = (entry: FileEntry, item: Fields): void => {
    const kind = item['type'] === 'message' ? `message ${String(item['role'])}` : String(item['type'])
    const mapped = messageOfItem(item)
    if ('leftOut' in mapped) notes.leftOut(kind, mapped.leftOut)
    else if (say(entry, mapped.message)) notes.mapped(kind)
  }

  /** Messages that the model sees in place of all before a compaction of an early version: the prompts, and the summary. */
  const earlySummary = (text: string): readonly Message[] => {
    const last = path.findLastIndex(({ kind }) => kind === 'condense')
    const prompts = path.slice(Math.max(0, last)).flatMap(({ index, kind }): readonly Message[] => {
      const action = actions.at(index)
      if (action?.type === 'condense') return action.summary.slice(0, -1)
      return action?.type === 'message' && kind === 'turn' ? [action.message as Message] : []
    })
    return [...prompts, { role: 'user', content: [{ type: 'text', text }] }]
  }

  const compact = (entry: FileEntry, { replacement_history: items, message }: Fields): void => {
    const summary = Array.isArray(items) ? messagesOfItems(items) : earlySummary(String(message))
    const problem = summary.map(messageProblem).find((each) => each !== undefined)
    if (problem !== undefined) return notes.bad(entry.line, `the list that replaces the history: ${problem}`)
    const shown = path.filter(({ kind }) => ['turn', 'context', 'message'].includes(kind))
    const [first, last] = [shown[0], shown.at(-1)]
    notes.mapped('compacted')
    if (first && last) {
      const covers = { first: first.ref, last: last.ref }
      if (summary.length === 0) add(entry, { type: 'truncate', covers }, { kind: 'condense' })
      else add(entry, { type: 'condense', covers, summary, method: 'client' }, { kind: 'condense' })
    } else for (const [index, each] of summary.entries()) say(entry, each, 'message', `:${index}`)
    unmetered = undefined
  }

  const rollBack = (entry: FileEntry, count: unknown): void => {
    const turns = path.flatMap(({ kind }, index) => (kind === 'turn' ? [index] : []))
    const [first] = turns
    if (typeof count !== 'number' || count < 1 || first === undefined) {
      notes.leftOut('thread_rolled_back', 'it takes back no turn')
      return
    }
    let cut = turns.at(-count) ?? first
    while (cut > first && ['context', 'configure'].includes(path[cut - 1]?.kind ?? '')) cut--
    notes.mapped('thread_rolled_back')
    add(entry, { type: 'rewind', to: path[cut - 1]?.ref ?? null })
    path = path.slice(0, cut)
    unmetered = undefined
  }

  const meter = (info: unknown): void => {
    const usage = isFields(info) ? info['last_token_usage'] : undefined
    if (unmetered === undefined || !isFields(usage)) return
    isMetered = true
    notes.mapped('token_count')
    actions.extend(unmetered, { content: [], origin: { usage: usageOf(usage) } })
    unmetered = undefined
  }

  const readEvent = (entry: FileEntry, payload: Fields): void => {
    const kind = String(payload['type'])
    if (kind === 'thread_rolled_back') rollBack(entry, payload['num_turns'])
    else if (kind === 'token_count') meter(payload['info'])
    else notes.leftOut('event_msg', 'for the display; what the model sees of it is in other entries')
  }

  const readMeta = (entry: FileEntry, payload: Fields): void => {
    if (meta) {
      notes.leftOut(
        'session_meta',
        payload['id'] === meta['id'] ? sameEntry : 'the session from which this one was forked',
      )
      return
    }
    meta = payload
    notes.mapped('session_meta')
    for (const [field, relation] of [
      ['forked_from_id', 'fork-of'],
      ['parent_thread_id', 'subagent-of'],
    ] as const) {
      const other = stringOf(payload[field])
      if (other !== undefined && other !== payload['id'])
        links.push({ ref: relation, type: 'Linked', data: { relation, conversation: idOf(other) } })
    }
    const { base_instructions: base, instructions, dynamic_tools: tools, git } = payload
    workspace = workspaceOf(git)
    const system = stringOf(isFields(base) ? base['text'] : instructions)
    configure(entry, {
      ...(system !== undefined && { system }),
      ...(Array.isArray(tools) && tools.length > 0 && { tools: tools.filter(isFields).map(toolOf) }),
    })
  }

  const readEntry = (entry: FileEntry): void => {
    const { type, payload } = entry.fields
    if (!isFields(payload)) {
      notes.bad(entry.line, 'an entry without a payload')
      return
    }
    switch (type) {
      case 'session_meta':
        return readMeta(entry, payload)
      case 'turn_context':
        notes.mapped('turn_context')
        return configure(entry, settingsOf(payload, configuration()))
      case 'response_item':
        return readItem(entry, payload)
      case 'inter_agent_communication':
        return readItem(entry, { ...payload, type: 'agent_message' })
      case 'compacted':
        return compact(entry, payload)
      case 'event_msg':
        return readEvent(entry, payload)
      default:
        notes.leftOut(
          String(type),
          type === 'world_state' ? 'state of Codex; the model does not see it' : 'an unknown kind',
        )
    }
  }

  const id = (): string =>
    idOf(stringOf(meta?.['id']) ?? stringOf(meta?.['session_id']) ?? `codex-${begin.digest()}`)
  const settled = (): Pick<ConversationPlan, 'settled'> =>
    // An early version that writes no usage would hold back each reply until the next one.
    isMetered && unmetered !== undefined ? { settled: unmetered } : {}
  return {
    read: (line) => {
      begin.add(line)
      for (const entry of entriesIn(line, notes)) readEntry(entry)
    },
    soFar: () => [{ id: id(), actions: actions.list(), ...settled() }],
    finish: () =>
      actions.count() === 0
        ? []
        : [{ id: id(), actions: actions.list(), ...(links.length > 0 && { notes: links }) }],
    mayGoOn: () => true,
  }
}

/** Returns the commit that a session names. Codex does not say if there were other changes. */
const workspaceOf = (git: unknown): Workspace | undefined => {
  const commit = isFields(git) ? stringOf(git['commit_hash']) : undefined
  return commit !== undefined && commitForm.test(commit) ? { kind: 'git', commit } : undefined
}

const kindOf = (message: Message): Step['kind'] =>
  beginsTurn(message) ? 'turn' : isContext(message) ? 'context' : 'message'

/** Returns what the context of a turn says about the requests of the turn. */
const settingsOf = (
  { model, effort, summary }: Fields,
  { parameters = {} }: Configuration,
): Configuration => ({
  ...(stringOf(model) !== undefined && { model: String(model) }),
  ...((stringOf(effort) !== undefined || stringOf(summary) !== undefined) && {
    parameters: {
      ...parameters,
      reasoning: {
        ...(stringOf(effort) !== undefined && { effort }),
        ...(stringOf(summary) !== undefined && { summary }),
      },
    },
  }),
})

const toolOf = ({ inputSchema, ...tool }: Fields): Fields => ({
  ...tool,
  ...(inputSchema !== undefined && { input_schema: inputSchema }),
})

/** Renames usage fields as in the Messages API, where input that was read from a cache is not part of `input_tokens`. */
const usageOf = ({ input_tokens: input, cached_input_tokens: cached, ...rest }: Fields): Fields => ({
  ...(typeof input === 'number' && { input_tokens: input - (typeof cached === 'number' ? cached : 0) }),
  ...(typeof cached === 'number' && { cache_read_input_tokens: cached }),
  ...rest,
})
