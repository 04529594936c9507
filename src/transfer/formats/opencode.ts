import { type AnyBlock, type Block, textBlock, unknownBlock } from '../../events/blocks.ts'
import type { NewMessage } from '../../commands/command.ts'
import type { Message } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { actionsOn } from './actions.ts'
import { hasSubagent, subagentOf } from './claude-code-beside.ts'
import type { DocumentFormat } from './format.ts'
import type { ConversationDraft } from './messages.ts'
import { blocksOfParts } from './openai-blocks.ts'
import type { ActionBody, ConversationPlan, PlannedNote } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { type FileEntry, idOf, type ImportNotes, messageProblem, stringOf, timeOf } from './source.ts'

/** Format for what `opencode export` writes: `{ info, messages: [{ info, parts }] }`. */
export const opencode: DocumentFormat = {
  name: 'opencode',
  recognises: (messages) => messages.some(({ info, parts }) => isFields(info) && Array.isArray(parts)),
  parse: (draft, notes, shelf) => readOpencode(draft, notes, shelf),
}

// The texts that opencode sends in place of what a session does not hold.
const cleared = '[Old tool result content cleared]'
const interrupted = '[Tool execution was interrupted]'
const question = 'What did we do so far?'
const byUser = 'The following tool was executed by the user'

/** A message of the file with its parts. */
interface Entry {
  readonly id: string
  readonly line: number
  readonly info: Fields
  readonly parts: readonly Fields[]
}

/** A message that the model sees, or a summary. `entry` is the id of its message in the file; empty for a summary. */
interface Shown {
  readonly ref: string
  readonly entry: string
}

/**
 * Reads a session: a reply holds the results of its calls; a compaction is a prompt without text whose reply is the summary; results that
 * were pruned later are edits at the end, and so is what was reverted but not yet replaced by another prompt.
 */
const readOpencode = (
  { owner, messages }: ConversationDraft,
  notes: ImportNotes,
  shelf: Shelf,
): readonly ConversationPlan[] => {
  const session = isFields(owner['info']) ? owner['info'] : {}
  const entries = messages.flatMap((each) => entryOf(each, notes))
  const actions = actionsOn(shelf)
  const links: PlannedNote[] = []
  const compactions = new Map<unknown, unknown>()
  let shown: Shown[] = []
  let model = ''

  const add = (ref: string, { info }: Entry, body: ActionBody): void => {
    const time = isFields(info['time']) ? timeOf(info['time']['created']) : undefined
    actions.add({ ref, ...(time !== undefined && { time }), ...body })
  }
  const say = (ref: string, entry: Entry, message: NewMessage): void => {
    if (message.content.length === 0) return
    const problem = messageProblem(message)
    if (problem !== undefined) return notes.bad(entry.line, `message ${entry.id}: ${problem}`)
    notes.mapped(`message ${message.role}`)
    add(ref, entry, { type: 'message', message })
    shown.push({ ref, entry: entry.id })
  }

  const compact = (entry: Entry): void => {
    const { parentID, finish, error } = entry.info
    const tail = compactions.get(parentID)
    const kept = shown.findIndex(({ entry: id }) => id === tail)
    const hidden = kept < 0 ? shown : shown.slice(0, kept)
    const [first, last] = [hidden[0], hidden.at(-1)]
    if (finish === undefined || error !== undefined || !first || !last)
      return notes.leftOut('compaction', 'it did not end, or hides no message')
    notes.mapped('compaction')
    const summary: readonly Message[] = [
      { role: 'user', content: [textBlock(question)] },
      { role: 'assistant', content: textsIn(entry.parts) },
    ]
    const covers = { first: first.ref, last: last.ref }
    add(entry.id, entry, { type: 'condense', covers, summary, method: 'client' })
    shown = [{ ref: entry.id, entry: '' }, ...shown.slice(hidden.length)]
  }

  const reply = (entry: Entry): void => {
    const { info, parts, id } = entry
    if (info['summary'] === true) return compact(entry)
    if (info['error'] !== undefined && !parts.some(({ type }) => type === 'text' || type === 'tool'))
      return notes.leftOut('message assistant', 'a reply that failed')
    for (const [index, step] of stepsOf(parts).entries()) {
      const ref = index === 0 ? id : `${id}:${index}`
      say(ref, entry, {
        role: 'assistant',
        content: step.flatMap(blocksOfReply),
        origin: originOf(info, step),
      })
      say(`${ref}:results`, entry, { role: 'user', content: step.flatMap((part) => resultsOf(part)) })
      for (const { tool, callID, state } of step)
        if (tool === 'task' && isFields(state) && isFields(state['metadata'])) {
          const child = stringOf(state['metadata']['sessionId'] ?? state['metadata']['sessionID'])
          if (child !== undefined) links.push(hasSubagent(idOf(child), String(callID)))
        }
    }
  }

  const prompt = (entry: Entry): void => {
    const { info, parts, id } = entry
    const compaction = parts.find(({ type }) => type === 'compaction')
    if (compaction) return void compactions.set(info['id'], compaction['tail_start_id'])
    const asked = isFields(info['model']) ? stringOf(info['model']['modelID']) : undefined
    if (asked !== undefined && asked !== model) {
      model = asked
      const provider = isFields(info['model']) ? stringOf(info['model']['providerID']) : undefined
      const parameters = provider === undefined ? {} : { parameters: { provider } }
      add(`${id}:model`, entry, { type: 'configure', configuration: { model, ...parameters } })
    }
    say(id, entry, { role: 'user', content: parts.flatMap(blocksOfPrompt) })
  }

  /** Edits the results that are still shown and that opencode does not send any more. */
  const prune = (entry: Entry): void => {
    for (const [index, step] of stepsOf(entry.parts).entries()) {
      const ref = `${index === 0 ? entry.id : `${entry.id}:${index}`}:results`
      if (!step.some(isPruned) || !shown.some((each) => each.ref === ref)) continue
      notes.mapped('pruned result')
      const summary = [{ role: 'user', content: step.flatMap((part) => resultsOf(part, true)) }] as const
      const covers = { first: ref, last: ref }
      add(`${ref}:pruned`, entry, { type: 'condense', covers, summary, method: 'client' })
      shown = shown.map((each) => (each.ref === ref ? { ...each, ref: `${ref}:pruned` } : each))
    }
  }

  const revert = ({ messageID, partID }: Fields): void => {
    const at = entries.findIndex(({ id }) => id === messageID)
    const entry = entries[at]
    const earlier = new Set(entries.slice(0, at).map(({ id }) => id))
    const before = shown.filter(({ entry: id }) => id === '' || earlier.has(id))
    if (!entry || before.length === shown.length) return
    notes.mapped('revert')
    add(`${entry.id}:reverted`, entry, { type: 'rewind', to: before.at(-1)?.ref ?? null })
    shown = before
    const end = entry.parts.findIndex(({ id }) => id === partID)
    if (partID === undefined || end < 0) return
    const kept = { ...entry, parts: entry.parts.slice(0, end), id: `${entry.id}:kept` }
    if (entry.info['role'] === 'user') prompt(kept)
    else reply(kept)
  }

  for (const entry of entries) (entry.info['role'] === 'user' ? prompt : reply)(entry)
  if (isFields(session['revert'])) revert(session['revert'])
  for (const entry of entries) prune(entry)

  if (actions.count() === 0) return []
  const { id, parentID, title } = session
  if (stringOf(parentID) !== undefined) links.push(subagentOf(idOf(String(parentID)), undefined))
  if (stringOf(title) !== undefined)
    links.push({ ref: `title ${String(title)}`, type: 'Noted', data: { kind: 'title', data: String(title) } })
  return [{ id: idOf(stringOf(id) ?? `opencode-${entries[0]?.id}`), actions: actions.list(), notes: links }]
}

const entryOf = ({ line, fields }: FileEntry, notes: ImportNotes): readonly Entry[] => {
  const { info, parts } = fields
  if (!isFields(info) || stringOf(info['id']) === undefined || !Array.isArray(parts)) {
    notes.bad(line, 'a message without info, id or parts')
    return []
  }
  return [{ id: String(info['id']), line, info, parts: parts.filter(isFields) }]
}

/** Splits the parts of a reply: each step is one request of the model. */
const stepsOf = (parts: readonly Fields[]): readonly (readonly Fields[])[] => {
  const steps: Fields[][] = [[]]
  for (const part of parts)
    if (part['type'] === 'step-start' && steps.at(-1)?.length !== 0) steps.push([])
    else steps.at(-1)?.push(part)
  return steps
}

const textsIn = (parts: readonly Fields[]): readonly Block[] =>
  parts.flatMap(({ type, text, ignored }) =>
    type === 'text' && ignored !== true ? [textBlock(String(text))] : [],
  )

const blocksOfPrompt = (part: Fields): readonly Block[] => {
  const { type, mime, url } = part
  if (type === 'text') return textsIn([part])
  if (type === 'subtask') return [textBlock(byUser)]
  // The text of text files and folders is in parts of its own.
  if (type !== 'file' || mime === 'text/plain' || mime === 'application/x-directory') return []
  return [fileOf(String(mime), String(url))]
}

const fileOf = (mime: string, url: string): Block => {
  if (mime.startsWith('image/')) return blocksOfParts([{ type: 'image_url', image_url: url }])[0] as Block
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
  const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type: mime, data }
  return { type: 'document', source }
}

const blocksOfReply = (part: Fields): readonly Block[] => {
  const { type, text, metadata, tool, callID, state } = part
  if (type === 'text') return textsIn([part])
  if (type === 'reasoning') {
    const of = isFields(metadata) && isFields(metadata['anthropic']) ? metadata['anthropic'] : {}
    const signature = stringOf(of['signature'])
    return [unknownBlock({ type: 'thinking', thinking: text, ...(signature !== undefined && { signature }) })]
  }
  if (type !== 'tool') return []
  const input = (isFields(state) ? state['input'] : undefined) ?? {}
  return [unknownBlock({ type: 'tool_use', id: callID, name: tool, input })]
}

const isPruned = ({ type, state }: Fields): boolean =>
  type === 'tool' && isFields(state) && isFields(state['time']) && state['time']['compacted'] !== undefined

/** Returns the result of a call. With `isCleared`, a pruned result is the text that stands for it. */
const resultsOf = (part: Fields, isCleared = false): readonly Block[] => {
  const { type, callID, state } = part
  if (type !== 'tool') return []
  const { status, output, error, attachments } = isFields(state) ? state : {}
  const result = (content: string | readonly AnyBlock[], isError = false): readonly Block[] => [
    unknownBlock({ type: 'tool_result', tool_use_id: callID, content, ...(isError && { is_error: true }) }),
  ]
  if (isCleared && isPruned(part)) return result(cleared)
  if (status === 'error') return result(String(error), true)
  if (status !== 'completed') return result(interrupted, true)
  const files = (Array.isArray(attachments) ? attachments : [])
    .filter(isFields)
    .map(({ mime, url }) => fileOf(String(mime), String(url)))
  return result(files.length === 0 ? String(output) : [textBlock(String(output)), ...files])
}

const originOf = ({ modelID, tokens, finish }: Fields, step: readonly Fields[]): NewMessage['origin'] => {
  const ended = step.findLast(({ type }) => type === 'step-finish')
  const counted = isFields(ended?.['tokens']) ? ended['tokens'] : isFields(tokens) ? tokens : undefined
  const cache = isFields(counted?.['cache']) ? counted['cache'] : {}
  return {
    ...(stringOf(modelID) !== undefined && { model: String(modelID) }),
    ...(stringOf(finish) !== undefined && { stopReason: finish === 'tool-calls' ? 'tool_use' : 'end_turn' }),
    ...(counted && {
      usage: {
        input_tokens: counted['input'],
        output_tokens: counted['output'],
        cache_read_input_tokens: cache['read'],
        cache_creation_input_tokens: cache['write'],
      },
    }),
  }
}
