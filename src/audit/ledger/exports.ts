import { orThrow, run, type Fallible } from '../../result/fallible.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import type { LedgerError } from './errors.ts'
import { exportsStream } from './facts.ts'
import { dataOf, record, type FactWriter } from './stored-facts.ts'

/** An export to be recorded. */
export interface ExportRecord {
  readonly conversations: readonly string[]
  /** Name of the document format, or `bundle`. */
  readonly format: string
  /** Person or program that requested the export, and the reason. */
  readonly by: string
  readonly reason?: string | undefined
  /** Positions of the events that the export withholds. */
  readonly withheld?: readonly number[] | undefined
  /** Range of call numbers whose requests the export includes; `first` and `last` are inclusive. Default: all calls. */
  readonly calls?: { readonly first: number; readonly last: number } | undefined
}

/** An export that was recorded. */
export interface RecordedExport extends ExportRecord {
  /** Time of the export: ISO 8601, UTC. */
  readonly time: string
}

export const recordExport = (writer: FactWriter, data: ExportRecord): Fallible<LedgerError, void> =>
  record(writer, exportsStream, { type: 'ConversationsExported', data })

export async function* exportsIn(store: EventStore): AsyncGenerator<RecordedExport, void> {
  for await (const event of backwards(store, exportsStream)) {
    const { data, time } = await orThrow(run(dataOf(await orThrow(event), 'ConversationsExported')))
    yield { ...data, time }
  }
}
