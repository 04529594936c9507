import type { Format, ImportReport } from './formats/plan.ts'

/** The result of an import. */
export interface ImportResult {
  readonly format: Format
  readonly report: ImportReport
  /** Conversations in file order. */
  readonly conversations: readonly ImportedConversation[]
}

/** An imported conversation. `added` of its `events` are new. */
interface ImportedConversation {
  readonly id: string
  readonly added: number
  readonly events: number
  /** Number of notes and links added; absent if none were. */
  readonly notes?: number
}
