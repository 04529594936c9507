import type { LedgerProof } from '../ledger/prove.ts'
import type { Evidence } from './export.ts'

/** Returns the number of a bundle's last events that the ledger does not prove; all of them without a ledger. */
export const unsealedEvents = (
  { conversation, events }: Pick<Evidence, 'conversation' | 'events'>,
  ledger: Pick<LedgerProof, 'entries'> | undefined,
): number => {
  const sealed = ledger?.entries?.filter(({ name }) => name === conversation) ?? []
  return events - 1 - Math.max(-1, ...sealed.map(({ position }) => position))
}
