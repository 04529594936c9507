import type { Format, ImportReport } from './formats/plan.ts'

/** The result of an import. */
export interface ImportResult {
  readonly format: Format
  readonly report: ImportReport
  /** Conversations in file order. */
  readonly conversations: readonly ImportedConversation[]
}

/** An imported conversation. `events` is the number of its events, and `added` the number of new ones. */
interface ImportedConversation {
  readonly id: string
  readonly added: number
  readonly events: number
  /** Number of notes and links added; absent if the import added no notes or links. */
  readonly notes?: number
  /** Number of messages in the file that differ from the stored ones, which stay as they are; absent if none differs. */
  readonly changed?: number
  /** Number of messages in the file whose stored content was erased, and stays erased; absent if there are none. */
  readonly erased?: number
}
