import type { PlacedEvent } from '../../conversation/reading/stored-events.ts'
import type { ConversationEvent } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import type { OriginalFile } from '../../conversation/reading/original.ts'

/** The parts of a conversation that an export reads. */
export interface ReadableConversation {
  readonly id: string
  readonly events: (range: { readonly to?: number | undefined }) => AsyncIterable<ConversationEvent>
  readonly stored: (options?: { readonly to?: number }) => AsyncIterable<PlacedEvent>
  readonly original: () => Promise<OriginalFile>
  readonly context: (options: { readonly at?: number | undefined }) => Promise<Effective>
}
