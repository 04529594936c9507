import type { Format, ImportReport } from './formats/plan.ts'

/** The outcome of an import. */
export interface ImportResult {
  readonly format: Format
  readonly report: ImportReport
  /** In the order of the file. */
  readonly conversations: readonly ImportedConversation[]
}

/** `added` of its `events` were not there before. */
interface ImportedConversation {
  readonly id: string
  readonly added: number
  readonly events: number
  /** Notes and links that were not there before; absent if none were added. */
  readonly notes?: number
}
