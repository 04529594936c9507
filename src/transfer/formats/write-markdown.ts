import { type Block, isBlock, isWellShaped } from '../../events/blocks.ts'
import { type ConversationEvent, type Message, otherFieldsOf, readableFields } from '../../events/events.ts'
import type { Fields } from '../../events/json.ts'
import { itemIn } from '../../projections/effective.ts'
import { type Entry, fullInSlices } from '../../projections/full.ts'
import { inBreaths } from '../../store/breath.ts'
import { withStubs } from '../disclosure/withheld.ts'
import { type ExportOptions, type FormatExporter, leaveAsIs } from './exporter.ts'
import type { ReadableConversation } from './readable-conversation.ts'
import { visibleDocument } from './visible.ts'

/**
 * An exporter that writes the full history as a readable document: every message and marker in order, including entries on abandoned
 * branches, and the reason why the model no longer sees an entry.
 */
export const markdownExporter: FormatExporter = { extension: 'md', kind: 'document', isOfLog: false, pieces }

/** Yields the document in pieces. Reads the log twice: first for the status of each entry, then for the content. */
async function* pieces(
  whole: ReadableConversation,
  { at, redact = leaveAsIs, withheld = new Map() }: ExportOptions,
): AsyncGenerator<string, void> {
  const chat = withStubs(whole, withheld)
  const log: ConversationEvent[] = []
  for await (const event of chat.events({ to: at })) log.push(withoutContent(event))
  const entries = await inBreaths(fullInSlices(log, { at, abandoned: true }))
  const fork = log.findLast((event) => event.type === 'Forked')
  log.length = 0
  yield markdownHead(chat.id, entries, fork).join('\n\n')
  let next = 0
  for await (const event of chat.events({ to: at })) {
    const entry = entries[next]
    if (entry?.position !== event.position) continue
    next++
    const item = itemIn(redact(event))
    if (item) for (const part of entryParts({ ...entry, ...item })) yield `\n\n${part}`
  }
  yield '\n'
}

/** Returns an event without its content, for callers that need only its position and the entries that it hides. */
export const withoutContent = (event: ConversationEvent): ConversationEvent => {
  if (event.type === 'MessageAppended') {
    const { role, messageId } = event.data
    return { ...event, data: { role, content: [], ...(messageId !== undefined && { messageId }) } }
  }
  return event.type === 'Condensed' ? { ...event, data: { ...event.data, summary: [] } } : event
}

/**
 * Returns the paragraphs before the entries. They do not depend on the content of the entries.
 *
 * @param fork event with which the conversation was forked from another one, if it was
 */
export const markdownHead = (
  conversation: string,
  entries: readonly Entry[],
  fork?: ConversationEvent<'Forked'>,
): readonly string[] => {
  const messages = entries.filter(({ kind }) => kind === 'message').length
  const shown = entries.filter(({ status }) => status === 'active').length
  return [
    `# Conversation ${conversation}`,
    `${messages} messages; the model sees ${shown} of the ${entries.length} entries below.`,
    ...(fork
      ? [
          `Forked from ${fork.data.from.conversation}: everything up to position ${fork.data.from.position} is inherited.`,
        ]
      : []),
  ].map(visibleDocument)
}

export function* entryParts(entry: Entry): Generator<string> {
  for (const part of partsOf(entry)) yield visibleDocument(part)
}

function* partsOf(entry: Entry): Generator<string> {
  yield `## ${entry.position} · ${titleOf(entry)} · ${entry.time}`
  const fate = fateOf(entry)
  if (fate !== undefined) yield `*${fate}*`
  yield* bodyOf(entry)
}

const titleOf = (entry: Entry): string => {
  if (entry.kind === 'message') return entry.role
  const { covers, messagesHidden } = entry
  const messages = messagesHidden === 1 ? '1 message' : `${messagesHidden} messages`
  return `${entry.kind} of ${messages}, ${covers.first} to ${covers.last}`
}

const fateOf = ({ status, by }: Entry): string | undefined => {
  switch (status) {
    case 'active':
      return undefined
    case 'condensed':
      return `No longer shown: replaced by the summary at ${by}.`
    case 'truncated':
      return `No longer shown: truncated at ${by}.`
    case 'restored':
      return `Taken back at ${by}.`
    case 'abandoned':
      return `On a branch abandoned by the rewind at ${by}.`
  }
}

function* bodyOf(entry: Entry): Generator<string> {
  switch (entry.kind) {
    case 'message':
      yield* blocksOf(entry.content)
      yield* fieldsOf(entry.fields)
      return
    case 'summary':
      return yield* messagesParts(entry.messages)
    case 'truncation':
      if (entry.reason !== undefined) yield entry.reason
  }
}

function* messagesParts(messages: readonly Message[]): Generator<string> {
  for (const message of messages) {
    if (messages.length > 1) yield `**${message.role}**`
    yield* blocksOf(message.content)
    yield* fieldsOf(otherFieldsOf(message))
  }
}

function* fieldsOf(fields: Fields | undefined): Generator<string> {
  const readable = readableFields(fields)
  if (readable.length > 0) yield fence(JSON.stringify(Object.fromEntries(readable), undefined, 2), 'json')
}

function* blocksOf(content: readonly Block[]): Generator<string> {
  for (const block of content) {
    const text = blockText(block)
    if (text !== '') yield text
  }
}

const blockText = (block: Block): string => {
  if (isBlock(block, 'text')) return block.text.trim()
  if (isBlock(block, 'thinking')) return quote(block.thinking)
  if (isBlock(block, 'tool_use'))
    return `**Call ${code(block.name)}** ${code(block.id)}\n\n${fence(JSON.stringify(block.input, undefined, 2), 'json')}`
  if (isBlock(block, 'tool_result')) {
    const { content = '', is_error: isError = false } = block
    const title = `**${isError ? 'Error' : 'Result'}** ${code(block.tool_use_id)}`
    const shown = typeof content === 'string' ? fence(content) : [...resultParts(content)].join('\n\n')
    return `${title}\n\n${shown}`
  }
  if (isBlock(block, 'image') || isBlock(block, 'document')) return `*[${block.type}]*`
  return fence(JSON.stringify(block, undefined, 2), 'json')
}

function* resultParts(content: readonly { readonly type: string }[]): Generator<string> {
  for (const part of content) {
    if (!isWellShaped(part)) yield fence(JSON.stringify(part, undefined, 2), 'json')
    else yield isBlock(part, 'text') ? fence(part.text) : blockText(part)
  }
}

const quote = (text: string): string =>
  text.trim() === ''
    ? ''
    : text
        .trim()
        .split('\n')
        .map((line) => `> ${line}`.trimEnd())
        .join('\n')

/** Wraps a text in a Markdown fence that is longer than any fence in the text. */
const fence = (text: string, language = ''): string => {
  let longest = 2
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length)
  const ticks = '`'.repeat(longest + 1)
  return `${ticks}${language}\n${text.trimEnd()}\n${ticks}`
}

const code = (text: string): string => (text.includes('`') ? text : `\`${text}\``)
