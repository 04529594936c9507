import type { Party } from '../../conversation/beside/party.ts'

/** A worker as its turns know it: it claims, beats and looks who lives outside of them. */
export const workerParty = (program: Party, id: string): Party => ({
  ...program,
  id,
  isWorker: true,
  live: () => () => {},
})
