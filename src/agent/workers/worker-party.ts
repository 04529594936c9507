import type { TurnClaimant } from '../../conversation/beside/party.ts'

/** Returns the claimant for turns run by a worker. The worker makes claims, beats and liveness checks outside of these turns. */
export const workerParty = (program: TurnClaimant, id: string): TurnClaimant => ({
  ...program,
  id,
  isWorker: true,
  live: () => () => {},
})
