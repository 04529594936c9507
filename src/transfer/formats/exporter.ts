import type { ConversationEvent } from '../../events/events.ts'
import type { Log } from '../../projections/path.ts'
import type { StubbedEvents } from '../disclosure/withheld.ts'
import type { ReadableConversation } from './readable-conversation.ts'

/** Settings of one export. */
export interface ExportOptions {
  /** Last position to export; the position must exist. Default: the conversation's last position. */
  readonly at?: number | undefined
  /** Redacts a value before it is written. Not used by the `palimpsest` format, whose output is exact to the byte. */
  readonly redact?: (<A>(value: A) => A) | undefined
  /** Events to withhold, from `prepareExport`. Not used by the `palimpsest` format. Default: none. */
  readonly withheld?: StubbedEvents | undefined
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

/** Returns an exporter based on a function that writes a whole log and puts the given hashes in place of withheld events. */
export const exporterOfLog = (
  extension: string,
  write: (log: Log, conversation: string, withheld: ReadonlyMap<number, string>) => Iterable<string>,
): FormatExporter => ({
  extension,
  kind: 'text',
  isOfLog: true,
  pieces: async function* (chat, { at, redact = leaveAsIs, withheld = new Map() }) {
    const log: ConversationEvent[] = []
    for await (const event of chat.events({ to: at }))
      log.push(withheld.has(event.position) ? event : redact(event))
    yield* write(log, chat.id, new Map([...withheld].map(([position, { hash }]) => [position, hash])))
  },
})
