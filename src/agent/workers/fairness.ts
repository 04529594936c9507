/**
 * Whose turn it is, among tenants that have equally much in progress for their weights: each claim moves its tenant 1 / weight further,
 * and the one that is least far is next. Who was away begins where the others are: nothing is saved up.
 * (Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.)
 */
export interface Fairness {
  readonly claimed: (tenant: string) => void
  /** How far the tenant is; the lower the sooner. */
  readonly of: (tenant: string) => number
}

export const fairness = (weightOf: (tenant: string) => number): Fairness => {
  const next = new Map<string, number>()
  let now = 0
  const of = (tenant: string): number => Math.max(next.get(tenant) ?? 0, now)
  return {
    of,
    claimed: (tenant) => {
      now = of(tenant)
      next.set(tenant, now + 1 / weightOf(tenant))
    },
  }
}
