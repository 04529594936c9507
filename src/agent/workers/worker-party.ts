import type { TurnClaimant } from '../../conversation/beside/party.ts'

/** Returns a worker as the claimant of its turns: claims, beats and liveness checks happen outside of them. */
export const workerParty = (program: TurnClaimant, id: string): TurnClaimant => ({
  ...program,
  id,
  isWorker: true,
  live: () => () => {},
})
