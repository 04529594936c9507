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
  /** Last position to export; the position must exist. Default: the conversation's last position. */
  readonly at?: number | undefined
  /** Redacts a value before it is written. Not used by the `palimpsest` format, whose output is exact to the byte. */
  readonly redact?: (<A>(value: A) => A) | undefined
  /** True to write JSON on one line. */
  readonly isCompact?: boolean | undefined
}

/** A format in which conversations are exported. */
export interface FormatExporter {
  /** File name extension of the format, without the dot. */
  readonly extension: string
  /**
   * Kind of output: `lines` of JSON, a single `json` value, a `document` that is safe to show, or `text` that may contain control
   * characters.
   */
  readonly kind: 'lines' | 'json' | 'document' | 'text'
  /**
   * True if the export loads the whole log into memory. Other exports load some of the events at a time or, for `json`, the effective
   * history.
   */
  readonly isOfLog: boolean
  /** Yields the exported conversation in pieces. Throws a `ReadError` during iteration. */
  readonly pieces: (chat: ReadableConversation, options: ExportOptions) => AsyncGenerator<string, void>
}

/** Returns a value unchanged, that is, without redaction. */
export const leaveAsIs = <A>(value: A): A => value

/** Returns an exporter based on a function that writes a whole log. */
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
