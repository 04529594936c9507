import type { TurnClaimant } from '../../conversation/beside/party.ts'

/** A worker as its turns know it: it claims, beats and looks who lives outside of them. */
export const workerParty = (program: TurnClaimant, id: string): TurnClaimant => ({
  ...program,
  id,
  isWorker: true,
  live: () => () => {},
})
