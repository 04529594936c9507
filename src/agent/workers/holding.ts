import { spentOf } from '../turn/spending/budget.ts'
import type { WorkBoard } from './known.ts'
import { isInProgress, type OpenStep, tenantOf } from './open-step.ts'
import { endOf, policyFor } from './policy.ts'

/**
 * Why no worker takes a step that is open: its conversation is paused (`paused`), or its tenant has spent its budget (`budget`), or has as
 * many steps in progress as it may (`limit`).
 */
export type HoldReason = 'paused' | 'budget' | 'limit'

/** What holds a step back, and until when if time alone changes that, in milliseconds since 1970. */
interface HeldBack {
  readonly why: HoldReason
  readonly until?: number
}

/** How tenants are doing at a moment. */
export interface TenantStatus {
  readonly held: (conversation: string, step: OpenStep) => HeldBack | undefined
  /** What holds back the steps of a tenant that nobody has. */
  readonly heldFor: (tenant: string) => HeldBack | undefined
  /** How many steps of the tenant are in progress, relative to its weight. */
  readonly load: (tenant: string) => number
}

/** Of each tenant, how many steps the observer is taking, whose claims nobody has received yet. */
const takenBy = ({ steps }: WorkBoard, taking: Iterable<string>): ReadonlyMap<string, number> => {
  const taken = new Map<string, number>()
  for (const conversation of taking) {
    const step = steps.get(conversation)
    if (step?.stage !== 'open' || step.holder !== undefined) continue
    const tenant = tenantOf(step)
    taken.set(tenant, (taken.get(tenant) ?? 0) + 1)
  }
  return taken
}

/**
 * @param time the wall clock, in milliseconds since 1970
 * @param taking the conversations whose steps the observer is taking, or has
 */
export const standingOf = (known: WorkBoard, time: number, taking: Iterable<string> = []): TenantStatus => {
  const { paused, policy, spending } = known
  const taken = takenBy(known, taking)
  const workingFor = (tenant: string): number => known.progress.forTenant(tenant) + (taken.get(tenant) ?? 0)
  const heldWith = (tenant: string, working: number): HeldBack | undefined => {
    const { limit = Infinity, budget } = policyFor(policy, tenant)
    if (budget && spentOf(budget, spending.of(tenant, budget.per, new Date(time).toISOString())))
      return { why: 'budget', until: endOf(budget.per, time) }
    return working >= limit ? { why: 'limit' } : undefined
  }
  return {
    held: (conversation, step) => {
      if (paused.has(conversation)) return { why: 'paused' }
      const tenant = tenantOf(step)
      // What a dead worker holds is taken over in its place.
      return heldWith(tenant, workingFor(tenant) - (isInProgress(step) ? 1 : 0))
    },
    heldFor: (tenant) => heldWith(tenant, workingFor(tenant)),
    load: (tenant) => workingFor(tenant) / (policyFor(policy, tenant).weight ?? 1),
  }
}

/**
 * Whether a claim that has been received is within its tenant's limit. Of claims that were made at the same time, the first ones in the
 * log are, and every worker finds the same.
 */
export const isWithinLimit = (known: WorkBoard, conversation: string): boolean => {
  const { steps, policy, lastClaim, lanes } = known
  const orderOf = (id: string): number => lastClaim(id)?.order ?? -1
  const step = steps.get(conversation)
  if (!step) return true
  const tenant = tenantOf(step)
  const { limit = Infinity } = policyFor(policy, tenant)
  if (limit === Infinity) return true
  const own = orderOf(conversation)
  const before = [...lanes.inProgress].filter(
    ([id, other]) => tenantOf(other) === tenant && orderOf(id) < own,
  )
  return before.length < limit
}
