/**
 * Order of tenants whose progress relative to their weights is equal: each claim moves its tenant 1 / weight further, and the least
 * advanced one is next. A tenant returning from idleness begins level with the others: it cannot save up its share. (Start-time fair
 * queueing: Goyal, Vin, Cheng, SIGCOMM 1996.)
 */
export interface Fairness {
  readonly claimed: (tenant: string) => void
  /** Returns the tenant's progress; the lowest is next. */
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
