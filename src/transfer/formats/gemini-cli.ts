import * as E from 'fp-ts/lib/Either.js'
import { type Block, unknownBlock } from '../../events/blocks.ts'
import type { Origin } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { badLineOf } from './bad-line.ts'
import { hasSubagent } from './claude-code-beside.ts'
import { textOf } from './documents.ts'
import { hasAll, type LineFormat } from './format.ts'
import { type EntryMessage, listEntries } from './gemini-list.ts'
import { blocksOfContent, createCallIds } from './gemini-parts.ts'
import { entriesOfList } from './messages.ts'
import type { ConversationPlan, PlannedNote } from './plan.ts'
import type { Shelf } from './shelf.ts'
import {
  createFileStart,
  entriesIn,
  type FileEntry,
  type FileLine,
  idOf,
  type ImportNotes,
  type LineReader,
  messageProblem,
  parseJson,
  placeIn,
  stringOf,
  timeOf,
} from './source.ts'

const types = new Set<unknown>(['user', 'gemini', 'info', 'error', 'warning'])

/** Format for the sessions of Gemini CLI: one JSON object, or, since 2026, lines that change a list of messages. */
export const geminiCli: LineFormat = {
  name: 'gemini-cli',
  recognises: (fields) =>
    hasAll(fields, 'sessionId', 'projectHash') ||
    (types.has(fields['type']) && hasAll(fields, 'id', 'timestamp', 'content')) ||
    typeof fields['$rewindTo'] === 'string' ||
    (isFields(fields['$set']) &&
      ['messages', 'lastUpdated', 'sessionId'].some((name) => hasAll(fields['$set'] as Fields, name))),
  read: (notes, shelf) => readGeminiCli(notes, shelf),
}

const readGeminiCli = (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
  const list = listEntries(shelf)
  const links = new Map<string, PlannedNote>()
  const begin = createFileStart()
  const held: FileLine[] = []
  const counted = new Set<unknown>()
  let isDocument: boolean | undefined
  let session: string | undefined
  let title: string | undefined

  const entryOf = (record: FileEntry, before: EntryMessage | undefined): EntryMessage => {
    const { id, type, timestamp, toolCalls } = record.fields
    const kind = `message ${String(type)}`
    const messages =
      type === 'gemini' ? replyIn(record.fields, notes) : promptIn(record.fields, before, notes)
    const problem = messages.map(messageProblem).find((each) => each !== undefined)
    const time = timeOf(timestamp)
    for (const call of Array.isArray(toolCalls) ? toolCalls.filter(isFields) : [])
      if (stringOf(call['agentId']) !== undefined && stringOf(call['id']) !== undefined) {
        const link = hasSubagent(idOf(String(call['agentId'])), String(call['id']))
        links.set(link.ref, link)
      }
    if (problem !== undefined) notes.bad(record.line, `message ${String(id)}: ${problem}`)
    else if (messages.length > 0 && !counted.has(id)) notes.mapped(kind)
    counted.add(id)
    return {
      id: stringOf(id) ?? placeIn(record),
      messages: problem === undefined ? messages : [],
      ...(time !== undefined && { time }),
    }
  }

  const describe = (record: FileEntry, fields: Fields): void => {
    session = stringOf(fields['sessionId']) ?? session
    title = stringOf(fields['summary']) ?? title
    if (fields['kind'] === 'subagent')
      notes.note('a session of a subagent; the file does not say which session started it')
    if (fields['messages'] === undefined) return
    const wanted: EntryMessage[] = []
    for (const { fields: message } of entriesOfList(fields['messages'], record.line, notes))
      wanted.push(
        entryOf(
          { ...record, part: wanted.length + 1, fields: message },
          wanted.findLast(({ messages }) => messages.length > 0),
        ),
      )
    list.replace(placeIn(record), wanted)
  }

  const readRecord = (record: FileEntry): void => {
    const { id, $set: changes, $rewindTo: target } = record.fields
    if (typeof target === 'string') {
      if (list.rewind(placeIn(record), target)) notes.mapped('$rewindTo')
      else notes.leftOut('$rewindTo', 'it takes back no message')
    } else if (stringOf(id) !== undefined) list.put(placeIn(record), entryOf(record, list.before(String(id))))
    else if (isFields(changes)) describe(record, changes)
    else if (hasAll(record.fields, 'sessionId')) describe(record, record.fields)
    else notes.leftOut('record', 'of an unknown kind')
  }

  return {
    read: (line) => {
      begin.add(line)
      if (line.text.trim() !== '') isDocument ??= line.text.trim() === '{'
      if (isDocument === true) return void held.push(line)
      for (const record of entriesIn(line, notes)) readRecord(record)
    },
    finish: () => {
      const text = textOf(held)
      const parsed = text.trim() === '' ? undefined : parseJson(text)
      if (parsed && E.isLeft(parsed)) notes.bad(badLineOf(text, parsed.left), `not JSON (${parsed.left})`)
      else if (isFields(parsed?.right)) readRecord({ line: 1, fields: parsed.right })
      const actions = list.actions()
      if (actions.length === 0) return []
      if (title !== undefined)
        links.set('title', { ref: `title ${title}`, type: 'Noted', data: { kind: 'title', data: title } })
      return [{ id: idOf(session ?? `gemini-cli-${begin.digest()}`), actions, notes: [...links.values()] }]
    },
    mayGoOn: () => isDocument !== true,
  }
}

type Said = EntryMessage['messages'][number]

/** Texts of the user that Gemini CLI does not send when it loads a session: its commands, and context that it writes again. */
const unsent = /^\s*(?:[/?]|<session_context>|<hook_context>)/

/** Returns the message of a user's entry, without results that the entry before it has already. */
const promptIn = (fields: Fields, before: EntryMessage | undefined, notes: ImportNotes): readonly Said[] => {
  const { id, type, content } = fields
  const kind = `message ${String(type)}`
  const leaveOut = (reason: string): readonly Said[] => {
    notes.leftOut(kind, reason)
    return []
  }
  if (type !== 'user') return leaveOut(types.has(type) ? 'for the user' : 'of an unknown kind')
  const all = blocksOfContent(content, createCallIds(String(id)), notes)
  const text = all.map((block) => (block.type === 'text' ? block.text : '.')).join('')
  if (unsent.test(text)) return leaveOut('a command or context that is not sent again')
  const last = before?.messages.at(-1)
  const given = last?.role === 'user' ? last.content : []
  const isOfResults = all.some(({ type: each }) => each === 'tool_result')
  const blocks = isOfResults ? all.filter((block) => !given.some(isSame(block))) : all
  if (text.trim() === '') return leaveOut('it is empty')
  return blocks.length === 0
    ? leaveOut('results that the reply has already')
    : [{ role: 'user', content: blocks }]
}

const isSame =
  (block: Block) =>
  (other: Block): boolean =>
    block.type === 'tool_result'
      ? other.type === 'tool_result' && other['tool_use_id'] === block['tool_use_id']
      : JSON.stringify(other) === JSON.stringify(block)

/** Returns a reply and the results of its calls. A reply has its thoughts and calls in its parts, or in fields of their own. */
const replyIn = (fields: Fields, notes: ImportNotes): readonly Said[] => {
  const { id, content, thoughts, toolCalls } = fields
  const ids = createCallIds(String(id))
  const parts = blocksOfContent(content, ids, notes)
  const isWhole = parts.some(({ type }) => type === 'thinking' || type === 'tool_use')
  const calls = (Array.isArray(toolCalls) ? toolCalls : []).filter(isFields)
  const known = new Set(parts.map((block) => block['id']))
  const missing = calls
    .filter((call) => !known.has(call['id']))
    .flatMap(({ id: callId, name, args }) =>
      blocksOfContent({ functionCall: { id: callId, name, args } }, ids, notes),
    )
  const reply = [...(isWhole ? [] : thinkingIn(thoughts)), ...parts, ...missing]
  const results: Block[] = []
  for (const block of calls.flatMap((call) => resultsOf(call, createCallIds(String(id)), notes)))
    if (!results.some(isSame(block))) results.push(block)
  if (reply.length === 0) notes.leftOut('message gemini', 'it is empty')
  return [
    ...(reply.length > 0 ? [{ role: 'assistant' as const, content: reply, origin: originOf(fields) }] : []),
    ...(results.length > 0 ? [{ role: 'user' as const, content: results }] : []),
  ]
}

const thinkingIn = (thoughts: unknown): readonly Block[] => {
  const texts = (Array.isArray(thoughts) ? thoughts.filter(isFields) : []).map(({ subject, description }) =>
    [
      ...(stringOf(subject) === undefined ? [] : [`**${String(subject)}**`]),
      stringOf(description) ?? '',
    ].join(' '),
  )
  return texts.length > 0 ? [unknownBlock({ type: 'thinking', thinking: texts.join('\n\n') })] : []
}

/** Returns the result of a call, with what came along with it. A masked result may repeat those of the other calls. */
const resultsOf = (
  { id, name, result }: Fields,
  ids: ReturnType<typeof createCallIds>,
  notes: ImportNotes,
): readonly Block[] => {
  ids.ofCall(id, name)
  if (result === null || result === undefined || result === '') return []
  const blocks = blocksOfContent(
    typeof result === 'string' ? { functionResponse: { id, name, response: { output: result } } } : result,
    ids,
    notes,
  )
  if (blocks.some(({ type }) => type === 'tool_result')) return blocks
  return [unknownBlock({ type: 'tool_result', tool_use_id: ids.ofResult(id, name), content: blocks })]
}

const originOf = ({ model, tokens }: Fields): Origin => {
  const number = (field: string): number => (isFields(tokens) && Number(tokens[field])) || 0
  return {
    ...(stringOf(model) !== undefined && { model: String(model) }),
    ...(isFields(tokens) && {
      usage: {
        input_tokens: number('input') + number('tool') - number('cached'),
        cache_read_input_tokens: number('cached'),
        output_tokens: number('output') + number('thoughts'),
        total_tokens: number('total'),
      },
    }),
  }
}
