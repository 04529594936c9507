import type { ConversationEvent } from '../../events/events.ts'
import type { PlacedEvent } from '../../conversation/reading/stored-events.ts'
import type { Effective } from '../../projections/effective.ts'
import type { Log } from '../../projections/path.ts'

/** The parts of a conversation that an export reads. */
export interface ReadableConversation {
  readonly id: string
  readonly events: (range: { readonly to?: number | undefined }) => AsyncIterable<ConversationEvent>
  readonly stored: () => AsyncIterable<PlacedEvent>
  readonly context: (options: { readonly at?: number | undefined }) => Promise<Effective>
}

/** Settings of one export. */
export interface ExportOptions {
  /** The last position of the export: it exists. Default: the last one. */
  readonly at?: number | undefined
  /** Makes unreadable what must not be there; not in `palimpsest`, which is to the byte. */
  readonly redact?: (<A>(value: A) => A) | undefined
  /** JSON on one line. */
  readonly isCompact?: boolean | undefined
}

/** A format that conversations are exported in. */
export interface FormatExporter {
  /** The extension of its files' names, without the dot. */
  readonly extension: string
  /** The kind of text: `lines` of JSON, one value in `json`, a `document` that is safe to show, or `text` that may contain control characters. */
  readonly kind: 'lines' | 'json' | 'document' | 'text'
  /** True if it takes the whole log into memory. The others take some events, and `json` what the model sees. */
  readonly isOfLog: boolean
  /** Writes a conversation, in pieces. Throws a `ReadError`. */
  readonly pieces: (chat: ReadableConversation, options: ExportOptions) => AsyncGenerator<string, void>
}

/** Leaves a value as it is. */
export const leaveAsIs = <A>(value: A): A => value

/** Exports by what writes a whole log. */
export const exporterOfLog = (
  extension: string,
  write: (log: Log, conversation: string) => Iterable<string>,
): FormatExporter => ({
  extension,
  kind: 'text',
  isOfLog: true,
  pieces: async function* (chat, { at, redact = leaveAsIs }) {
    const log: ConversationEvent[] = []
    for await (const event of chat.events({ to: at })) log.push(redact(event))
    yield* write(log, chat.id)
  },
})
