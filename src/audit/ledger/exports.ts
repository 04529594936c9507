import { orThrow, run, type Steps } from '../../result/steps.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import type { LedgerError } from './errors.ts'
import { exportsStream } from './facts.ts'
import { dataOf, record, type FactWriter } from './stored.ts'

/** An export, as it is recorded. */
export interface ExportRecord {
  readonly conversations: readonly string[]
  /** `bundle`, or the format. */
  readonly format: string
  /** Who asked for it, and why. */
  readonly by: string
  readonly reason?: string | undefined
  /** Positions of events that it is without. */
  readonly withheld?: readonly number[] | undefined
  /** The calls whose requests it has, both included. Default: all. */
  readonly calls?: { readonly first: number; readonly last: number } | undefined
}

/** An export that was recorded. */
export interface RecordedExport extends ExportRecord {
  /** When: ISO 8601, UTC. */
  readonly time: string
}

export const recordExport = (writer: FactWriter, data: ExportRecord): Steps<LedgerError, void> =>
  record(writer, exportsStream, { type: 'ConversationsExported', data })

export async function* exportsIn(store: EventStore): AsyncGenerator<RecordedExport, void> {
  for await (const event of backwards(store, exportsStream)) {
    const { data, time } = await orThrow(run(dataOf(await orThrow(event), 'ConversationsExported')))
    yield { ...data, time }
  }
}
