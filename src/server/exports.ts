import { outOfRange } from '../commands/rejections.ts'
import type { Conversation, OriginalFile, Store } from '../index.ts'
import type { FormatExporter } from '../transfer/formats/exporter.ts'
import type { ReadableConversation } from '../transfer/formats/readable-conversation.ts'
import { exporterOf } from '../transfer/formats/registry.ts'
import { isTyped, toError } from '../result/typed-error.ts'
import { eventsWithin, largestAnswer, readView } from './bounded.ts'
import { gather } from './html/gather.ts'
import { htmlPage } from './html/page.ts'
import { requestError } from './problem.ts'
import { type PreparedExport, prepareExport } from '../transfer/disclosure/prepare.ts'
import type { StubbedEvents } from '../transfer/disclosure/withheld.ts'
import { anyOf, redactor } from '../transfer/disclosure/redact.ts'

// Exports, made piece by piece as the client reads them.

interface FileOptions {
  /** Last position to export. It must exist. */
  readonly at: number
  /** Texts to remove from the export. */
  readonly redact: readonly string[]
  readonly withheld: StubbedEvents
  /** True if an `html` export includes the request of every call, as it was sent. */
  readonly calls: boolean
}
/** The store from which an export is made, and the folder of the built page. */
export interface ExportSource {
  readonly store: Store
  /** Folder of the built page. Default: the folder in the package. */
  readonly pageFile?: URL | undefined
}
interface FileWriter {
  readonly extension: string
  readonly write: (chat: Conversation, options: FileOptions) => AsyncGenerator<string | Uint8Array, void>
}

/** Content that a request leaves out of an export, and the end of the export. */
interface Omissions {
  readonly format: string
  readonly at: number
  readonly isWhole: boolean
  readonly withhold: readonly number[]
  readonly redact: readonly string[]
  readonly force: boolean
}

/** Looks through an export before it is written, with the memory that a server allows. */
export const prepare = async (
  store: Store,
  chat: Conversation,
  { redact, ...wishes }: Omissions,
): Promise<PreparedExport> => {
  const command = `export ${chat.id} --format ${wishes.format}`
  const bounded = {
    ...chat,
    original: () => originalWithin(chat),
    context: ({ at }: { readonly at?: number | undefined }) => readView(chat, at, command),
  }
  const title = wishes.format === 'html' ? await titleOf(store, chat.id) : undefined
  return prepareExport(bounded, { ...wishes, title, redact: redact.length > 0 ? anyOf(redact) : undefined })
}

/** Returns the writer of a format, limited to the memory that a server allows, or undefined if the format is unknown. */
export const writerOf = async (format: string, source: ExportSource): Promise<FileWriter | undefined> => {
  if (format === 'html') return htmlOf(source)
  if (format === 'original') return original
  const exporter = await exporterOf(format === 'md' ? 'markdown' : format)
  return (
    exporter && {
      extension: exporter.extension,
      write: async function* (chat, { at, redact, withheld }) {
        if (format === 'palimpsest') await refuseShared(chat, at)
        const bounded = within(chat, exporter, `export ${chat.id} --format ${format}`)
        yield* exporter.pieces(bounded, { at, redact: redactor(redact), withheld })
      },
    }
  )
}

/**
 * Returns a conversation that throws `TooLong` if an export needs more of it in memory than the server allows for one response.
 *
 * @param command the command that does the same without a server
 */
const within = (chat: Conversation, { isOfLog }: FormatExporter, command: string): ReadableConversation => ({
  ...(isOfLog ? eventsWithin(chat, command, largestAnswer) : chat),
  context: ({ at }) => readView(chat, at, command),
})

/** Writer of the file from which a conversation was imported. */
const original: FileWriter = {
  extension: 'original',
  write: async function* (chat) {
    yield* (await chat.original()).pieces
  },
}

/** Returns the original file to look through. Reading it throws `TooLong` at a line that is too long to be held in memory. */
const originalWithin = async (chat: Conversation): Promise<OriginalFile> => {
  const file = await chat.original()
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    let length = 0
    for await (const piece of file.pieces) {
      const end = piece.lastIndexOf(newline)
      length = end < 0 ? length + piece.length : piece.length - end - 1
      if (length > largestAnswer)
        throw requestError(
          'TooLong',
          `the original file of ${chat.id} has a line of more than the ${largestAnswer} bytes that this server searches for secrets: set force, or run palimpsest export ${chat.id} --format original --out FILE`,
          { limit: largestAnswer },
        )
      yield piece
    }
  }
  return { ...file, pieces: pieces() }
}
const newline = 0x0a

/** Refuses an export that would contain only events of the conversation from which this one was forked. */
export const refuseShared = async (chat: Conversation, at: number): Promise<void> => {
  try {
    for await (const event of chat.events({ from: at + 1 }))
      if (event.type === 'Forked')
        throw requestError(
          'InvalidRequest',
          `position ${at} belongs to conversation ${event.data.from.conversation}, from which ${chat.id} was forked: export that one`,
        )
  } catch (error) {
    // A damaged event after the position is not exported.
    if (!isTyped(error) || error._tag !== 'DecodeFailed') throw error
  }
}

/** Makes the writer of a conversation's HTML page, a file that opens without a server. */
const htmlOf = (source: ExportSource): FileWriter => ({
  extension: 'html',
  write: async function* (chat, { at, calls, redact, withheld }) {
    const options = { at, calls, withheld, ...(redact.length > 0 && { redact: anyOf(redact) }) }
    try {
      yield* htmlPage(chat.id, gather(source.store, chat, options), source.pageFile)
    } catch (error) {
      if (!isTyped(error) || error._tag !== 'PageMissing') throw error
      throw requestError('NotFound', error.message)
    }
  },
})

/** Returns the title of a conversation. */
export const titleOf = async (store: Pick<Store, 'conversations'>, id: string): Promise<string> => {
  for await (const info of store.conversations({ beginning: id })) if (info.id === id) return info.title
  return ''
}

/** Returns the last position of an export: `at`, or the last position of the conversation. Throws a `ReadError`. */
export const endOf = async (chat: Conversation, at: number | undefined): Promise<number> => {
  const last = await chat.position()
  if (at !== undefined && at > last) throw toError(outOfRange(chat.id, at, last))
  return at ?? last
}
