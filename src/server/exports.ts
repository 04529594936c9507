import { outOfRange } from '../commands/rejections.ts'
import type { Conversation, Store } from '../index.ts'
import type { FormatExporter, ReadableConversation } from '../transfer/formats/exporter.ts'
import { exporterOf } from '../transfer/formats/registry.ts'
import { isTyped, toError } from '../result/typed-error.ts'
import { eventsWithin, largestAnswer, readView } from './bounded.ts'
import { gather } from './html/gather.ts'
import { htmlPage } from './html/page.ts'
import { requestError } from './problem.ts'
import { anyOf, redactor } from './redact.ts'

// Exports, made piece by piece as the client reads them.

interface FileOptions {
  /** Last position to export. It must exist. */
  readonly at: number
  /** Texts to remove from the export. */
  readonly redact: readonly string[]
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
  readonly write: (chat: Conversation, options: FileOptions) => AsyncGenerator<string, void>
}

/** Returns the writer of a format, limited to the memory that a server allows, or undefined if the format is unknown. */
export const writerOf = async (format: string, source: ExportSource): Promise<FileWriter | undefined> => {
  if (format === 'html') return htmlOf(source)
  const exporter = await exporterOf(format)
  return (
    exporter && {
      extension: exporter.extension,
      write: async function* (chat, { at, redact }) {
        if (format === 'palimpsest') await refuseChanged(chat, at, redact)
        const bounded = within(chat, exporter, `export ${chat.id} --format ${format}`)
        yield* exporter.pieces(bounded, { at, redact: redactor(redact) })
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

const refuseChanged = async (chat: Conversation, at: number, redact: readonly string[]): Promise<void> => {
  if (redact.length > 0)
    throw requestError('InvalidRequest', 'a palimpsest export is verbatim: to redact, choose another format')
  for await (const event of chat.events({ from: at + 1 }))
    if (event.type === 'Forked')
      throw requestError(
        'InvalidRequest',
        `position ${at} belongs to conversation ${event.data.from.conversation}, from which ${chat.id} was forked: export that one`,
      )
}

/** Makes the writer of a conversation's HTML page, a file that opens without a server. */
const htmlOf = (source: ExportSource): FileWriter => ({
  extension: 'html',
  write: async function* (chat, { at, calls, redact }) {
    const options = { at, calls, ...(redact.length > 0 && { redact: anyOf(redact) }) }
    try {
      yield* htmlPage(chat.id, gather(source.store, chat, options), source.pageFile)
    } catch (error) {
      if (!isTyped(error) || error._tag !== 'PageMissing') throw error
      throw requestError('NotFound', error.message)
    }
  },
})

/** Returns the last position of an export: `at`, or the last position of the conversation. Throws a `ReadError`. */
export const endOf = async (chat: Conversation, at: number | undefined): Promise<number> => {
  const last = await chat.position()
  if (at !== undefined && at > last) throw toError(outOfRange(chat.id, at, last))
  return at ?? last
}
