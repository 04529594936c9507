import { outOfRange } from '../commands/rejections.ts'
import type { Conversation, ConversationEvent, PlacedEvent, Store } from '../index.ts'
import { logWriter } from '../transfer/formats/registry.ts'
import { anthropicRequest } from '../transfer/formats/write-anthropic.ts'
import { entryParts, markdownHead } from '../transfer/formats/write-markdown.ts'
import { palimpsestLine } from '../transfer/formats/write-palimpsest.ts'
import { itemIn } from '../projections/effective.ts'
import { full } from '../projections/full.ts'
import { isTyped, toError } from '../result/typed.ts'
import { eventsWithin, largestAnswer, shownAt } from './bounded.ts'
import { gather } from './html/gather.ts'
import { htmlPage } from './html/page.ts'
import { refused } from './problem.ts'
import { anyOf, redactor } from './redact.ts'

// Exports in pieces, as they are taken.

export interface ExportOptions {
  /** The last position of the export: it exists. */
  readonly at: number
  /** Texts that it must not have. */
  readonly redact: readonly string[]
  /** Of `html`: with the request of every call, as it was sent. */
  readonly calls: boolean
}
/** What an export reads. */
export interface ExportSource {
  readonly store: Store
  /** The folder of the page. Default: the package's own. */
  readonly pageFile?: URL | undefined
}
interface Writer {
  readonly extension: string
  readonly write: (chat: Conversation, options: ExportOptions) => AsyncGenerator<string, void>
}

/**
 * What writes a format; undefined if there is none of that name. Memory: of `palimpsest` some events; of `markdown` some events, and without
 * their content all of them; of `anthropic` what the model sees; of `html`, `vcon`, `prov` and of a registered format everything, as `write` takes it.
 */
export const writerOf = async (format: string, source: ExportSource): Promise<Writer | undefined> => {
  const write = await logWriter(format)
  if (!write && format === 'html') return htmlOf(source)
  if (!write) return writers.get(format)
  return {
    extension: extensions.get(format) ?? 'txt',
    write: async function* (chat, { at, redact }) {
      const redacted = redactor(redact)
      const log: ConversationEvent[] = []
      const within = eventsWithin(chat, `export ${chat.id} --format ${format}`, largestAnswer)
      for await (const event of within.events({ to: at })) log.push(redacted(event))
      yield* write(log, chat.id)
    },
  }
}

const extensions: ReadonlyMap<string, string> = new Map([
  ['vcon', 'vcon.json'],
  ['prov', 'jsonld'],
])

async function* palimpsest(chat: Conversation, { at, redact }: ExportOptions): AsyncGenerator<string, void> {
  if (redact.length > 0)
    throw refused('InvalidRequest', 'a palimpsest export is to the byte: take another format to redact it')
  await refuseInherited(chat, at)
  let start = 0
  for await (const event of chat.stored()) {
    if (event.conversation === chat.id) {
      if (event.revision === 0 && event.type === 'Forked') start = forkedAt(event) + 1
      if (positionOf(event, start) > at) continue
    }
    yield `${palimpsestLine(event)}\n`
  }
}

const refuseInherited = async (chat: Conversation, at: number): Promise<void> => {
  for await (const event of chat.events({ from: at + 1 }))
    if (event.type === 'Forked')
      throw refused(
        'InvalidRequest',
        `position ${at} is of conversation ${event.data.from.conversation}, which ${chat.id} was forked from: export that`,
      )
}

interface Placing {
  readonly at?: number
  readonly from?: { readonly position: number }
}
const forkedAt = ({ data }: PlacedEvent): number => (JSON.parse(data) as Placing).from?.position ?? -1

/** Of a note, the position that it was recorded at. */
const positionOf = ({ type, data, revision }: PlacedEvent, start: number): number =>
  type === 'Noted' || type === 'Linked' ? ((JSON.parse(data) as Placing).at ?? -1) : start + revision

async function* anthropic(chat: Conversation, { at, redact }: ExportOptions): AsyncGenerator<string, void> {
  yield JSON.stringify(
    redactor(redact)(anthropicRequest(await shownAt(chat, at, `export ${chat.id} --format anthropic`))),
    undefined,
    2,
  )
  yield '\n'
}

/** Writes `markdown`. Reads the log twice: first for what became of each entry, then for what it says. */
export async function* markdownPieces(
  chat: Conversation,
  { at, redact = [] }: Pick<ExportOptions, 'at'> & Partial<ExportOptions>,
): AsyncGenerator<string, void> {
  const log: ConversationEvent[] = []
  for await (const event of chat.events({ to: at })) log.push(withoutContent(event))
  const entries = full(log, { at, abandoned: true })
  log.length = 0
  const redacted = redactor(redact)
  yield markdownHead(chat.id, entries).join('\n\n')
  let next = 0
  for await (const event of chat.events({ to: at })) {
    const entry = entries[next]
    if (entry?.position !== event.position) continue
    next++
    const item = itemIn(redacted(event))
    if (item) for (const part of entryParts({ ...entry, ...item })) yield `\n\n${part}`
  }
  yield '\n'
}

export const withoutContent = (event: ConversationEvent): ConversationEvent => {
  if (event.type === 'MessageAppended') {
    const { role, messageId } = event.data
    return { ...event, data: { role, content: [], ...(messageId !== undefined && { messageId }) } }
  }
  return event.type === 'Condensed' ? { ...event, data: { ...event.data, summary: [] } } : event
}

const writers: ReadonlyMap<string, Writer> = new Map([
  ['palimpsest', { extension: 'jsonl', write: palimpsest }],
  ['anthropic', { extension: 'json', write: anthropic }],
  ['markdown', { extension: 'md', write: markdownPieces }],
])

/** The page of a conversation, in a file that opens without a server. */
const htmlOf = (source: ExportSource): Writer => ({
  extension: 'html',
  write: async function* (chat, { at, calls, redact }) {
    const options = { at, calls, ...(redact.length > 0 && { redact: anyOf(redact) }) }
    try {
      yield* htmlPage(chat.id, gather(source.store, chat, options), source.pageFile)
    } catch (error) {
      if (!isTyped(error) || error._tag !== 'PageMissing') throw error
      throw refused('NotFound', error.message)
    }
  },
})

/** The position that an export ends at. Throws a `ReadError`. */
export const endOf = async (chat: Conversation, at: number | undefined): Promise<number> => {
  const last = await chat.position()
  if (at !== undefined && at > last) throw toError(outOfRange(chat.id, at, last))
  return at ?? last
}
