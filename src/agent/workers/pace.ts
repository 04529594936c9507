/** Delay before claiming a step that other workers should claim first, derived from the recent durations of claims. Milliseconds. */
export interface ClaimDelay {
  /** Notes the duration of a claim. */
  readonly claimed: (ms: number) => void
  readonly wait: () => number
}

const longest = 300
/** Durations of a claim to wait: the others notice the step, record the claim, and this worker receives it. */
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
