/** How long to wait for those who should be quicker: some claims long, as they have been lately. Milliseconds. */
export interface ClaimDelay {
  /** A claim has taken this long. */
  readonly claimed: (ms: number) => void
  readonly wait: () => number
}

const longest = 300
/** A claim is heard of, recorded, and heard of again. */
const claims = 4
/** What the newest claim counts for. */
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
