/**
 * Delay in milliseconds before claiming a step that other workers should claim first. It is derived from the durations of recent
 * claims.
 */
export interface ClaimDelay {
  /** Updates the average with the duration of a claim. */
  readonly claimed: (ms: number) => void
  readonly wait: () => number
}

const longest = 300
/**
 * Number of claim durations to wait. In this time the other workers notice the step and record a claim, and this worker receives the
 * claim.
 */
const claims = 4
/** Weight of the newest claim in the average. */
const share = 0.2

export const paceFrom = (shortest: number): ClaimDelay => {
  let usual = shortest / claims
  return {
    claimed: (ms) => {
      usual += (ms - usual) * share
    },
    wait: () => Math.min(Math.max(usual * claims, shortest), longest),
  }
}
