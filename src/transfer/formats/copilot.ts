import { type AnyBlock, textBlock, unknownBlock } from '../../events/blocks.ts'
import type { Configuration, Message, Origin } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { actionsOn } from './actions.ts'
import { hasAll, type LineFormat } from './format.ts'
import type { ActionBody, ConversationPlan } from './plan.ts'
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
  stringOf,
  timeOf,
} from './source.ts'

/** An action on the path that the model sees, with the id of its entry. */
interface Step {
  readonly ref: string
  readonly isMessage: boolean
  readonly configuration: Configuration
}

/** Format for the events of a Copilot CLI session (`events.jsonl`). */
export const copilot: LineFormat = {
  name: 'copilot',
  recognises: (fields) =>
    hasAll(fields, 'id', 'data', 'parentId') &&
    /^(?:session|user|assistant|tool)\./.test(String(fields['type'])),
  read: (notes, shelf) => readCopilot(notes, shelf),
}

const unseen = 'what happens around the conversation; the model does not see it'

/** Reads the events of a session, each of which follows the one before it: messages, results, compactions and rewinds. */
const readCopilot = (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
  const actions = actionsOn(shelf)
  let path: Step[] = []
  let session: string | undefined
  const begin = createFileStart()

  const configuration = (): Configuration => path.at(-1)?.configuration ?? {}
  const refOf = (entry: FileEntry): string => stringOf(entry.fields['id']) ?? placeIn(entry)
  const add = (entry: FileEntry, body: ActionBody, now = configuration()): void => {
    const time = timeOf(entry.fields['timestamp'])
    const ref = refOf(entry)
    notes.mapped(String(entry.fields['type']))
    actions.add({ ref, ...(time !== undefined && { time }), ...body })
    if (body.type !== 'rewind') path.push({ ref, isMessage: body.type === 'message', configuration: now })
  }
  const configure = (entry: FileEntry, changes: Configuration): void => {
    const next = { ...configuration(), ...changes }
    if (JSON.stringify(next) !== JSON.stringify(configuration()))
      add(entry, { type: 'configure', configuration: next }, next)
  }
  const say = (
    entry: FileEntry,
    role: Message['role'],
    content: readonly AnyBlock[],
    origin?: Origin,
  ): void => {
    const message = { role, content: content.map(unknownBlock), ...(origin && { origin }) }
    const problem = messageProblem(message)
    if (problem !== undefined) notes.bad(entry.line, problem)
    else add(entry, { type: 'message', message })
  }

  const compact = (entry: FileEntry, { success, summaryContent: summary }: Fields): void => {
    const shown = path.filter(({ isMessage }) => isMessage)
    const [first, last] = [shown[0], shown.at(-1)]
    if (success === false || !first || !last)
      return notes.leftOut('session.compaction_complete', 'it hides no message')
    const covers = { first: first.ref, last: last.ref }
    if (stringOf(summary) !== undefined) {
      const messages: readonly Message[] = [{ role: 'user', content: [textBlock(String(summary))] }]
      return add(entry, { type: 'condense', covers, summary: messages, method: 'client' })
    }
    notes.note('the file does not hold the summaries of some compactions')
    add(entry, { type: 'truncate', covers, reason: 'compacted; the file does not hold the summary' })
  }

  const rewind = (entry: FileEntry, first: unknown): void => {
    const at = path.findIndex(({ ref }) => ref === first)
    if (at < 0) return notes.leftOut('session.snapshot_rewind', 'it takes back no message')
    add(entry, { type: 'rewind', to: path[at - 1]?.ref ?? null })
    path = path.slice(0, at)
  }

  const readEntry = (entry: FileEntry): void => {
    const { type } = entry.fields
    const payload = isFields(entry.fields['data']) ? entry.fields['data'] : {}
    const kind = String(type)
    const { content: said, transformedContent: sent } = payload
    if (stringOf(payload['parentToolCallId']) !== undefined)
      return notes.leftOut(kind, 'an event of a subagent')
    switch (type) {
      case 'session.start':
        session ??= stringOf(payload['sessionId'])
        return configure(entry, modelIn(payload['selectedModel'], payload['reasoningEffort']))
      case 'session.model_change':
        return configure(entry, modelIn(payload['newModel'], payload['reasoningEffort']))
      case 'system.message':
        return configure(entry, { system: String(said) })
      case 'user.message':
        for (const _ of Array.isArray(payload['attachments']) ? payload['attachments'] : [])
          notes.leftOut('attachment', 'the prompt names it')
        return say(entry, 'user', [textBlock(String(sent ?? said))])
      case 'system.notification':
        return say(entry, 'user', [textBlock(String(said))])
      case 'assistant.message': {
        const content = blocksOfReply(payload)
        if (content.length > 0) return say(entry, 'assistant', content, originOf(payload, configuration()))
        return notes.leftOut(kind, 'it is empty')
      }
      case 'tool.execution_complete':
        return say(entry, 'user', [resultOf(payload)])
      case 'session.compaction_complete':
        return compact(entry, payload)
      case 'session.snapshot_rewind':
        return rewind(entry, payload['upToEventId'])
      case 'session.truncation':
        notes.note('the file does not say which messages the truncations left out: all of them are shown')
        return notes.leftOut(kind, 'the file does not say what it hid')
      default:
        return notes.leftOut('event', unseen)
    }
  }

  const finish = (): readonly ConversationPlan[] =>
    actions.count() === 0
      ? []
      : [{ id: idOf(session ?? `copilot-${begin.digest()}`), actions: actions.list() }]
  return {
    read: (line) => {
      begin.add(line)
      for (const entry of entriesIn(line, notes)) readEntry(entry)
    },
    soFar: finish,
    finish,
    mayGoOn: () => true,
  }
}

const modelIn = (model: unknown, effort: unknown): Configuration => ({
  ...(stringOf(model) !== undefined && { model: String(model) }),
  ...(stringOf(effort) !== undefined && { parameters: { reasoningEffort: effort } }),
})

const blocksOfReply = ({
  reasoningText,
  reasoningOpaque,
  content,
  toolRequests,
}: Fields): readonly AnyBlock[] => [
  ...(stringOf(reasoningText) !== undefined || stringOf(reasoningOpaque) !== undefined
    ? [
        {
          type: 'thinking',
          thinking: stringOf(reasoningText) ?? '',
          ...(stringOf(reasoningOpaque) !== undefined && { reasoning_opaque: reasoningOpaque }),
        },
      ]
    : []),
  ...(stringOf(content) === undefined ? [] : [textBlock(String(content))]),
  ...(Array.isArray(toolRequests) ? toolRequests : [])
    .filter(isFields)
    .map(({ toolCallId: id, name, arguments: input }) => ({
      type: 'tool_use',
      id,
      name,
      input: input ?? {},
    })),
]

const originOf = ({ model, outputTokens }: Fields, { model: configured }: Configuration): Origin => ({
  ...((stringOf(model) ?? configured) !== undefined && { model: stringOf(model) ?? configured }),
  ...(typeof outputTokens === 'number' && { usage: { output_tokens: outputTokens } }),
})

const resultOf = ({ toolCallId, success, result, error }: Fields): AnyBlock => {
  const said = isFields(result) ? result['content'] : isFields(error) ? error['message'] : (result ?? error)
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    content: typeof said === 'string' ? said : JSON.stringify(said ?? ''),
    ...(success === false && { is_error: true }),
  }
}
