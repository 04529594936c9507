/**
 * Order in which tenants are served, so that they progress in proportion to their weights. Each claim advances its tenant by 1 /
 * weight, and the least advanced tenant is next. A tenant that returns from idleness starts level with the others: it cannot save up
 * its share. (Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.)
 */
export interface Fairness {
  readonly claimed: (tenant: string) => void
  /** Returns the tenant's progress. The tenant with the lowest progress is next. */
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
