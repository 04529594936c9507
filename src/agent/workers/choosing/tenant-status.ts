import { limitReached } from '../../turn/spending/budget.ts'
import type { WorkBoard } from '../board/work-board.ts'
import { isInProgress, type OpenStep, tenantOf } from '../board/open-step.ts'
import { endOf, policyFor } from './policy.ts'

/**
 * Reason why no worker takes an open step: its conversation is paused (`paused`), or its tenant has spent its budget (`budget`) or
 * reached its limit of steps in progress (`limit`).
 */
export type HoldReason = 'paused' | 'budget' | 'limit'

/** Reason why a step is held back. `until` is the time at which it expires by itself, if it does, in milliseconds since 1970. */
export interface HeldBack {
  readonly why: HoldReason
  readonly until?: number
}

/** Status of the tenants at one moment: the steps held back, and the load. */
export interface TenantStatus {
  readonly held: (conversation: string, step: OpenStep) => HeldBack | undefined
  /** Returns the reason why a tenant's free steps are held back; undefined if they are not. */
  readonly heldFor: (tenant: string) => HeldBack | undefined
  /** Returns the number of the tenant's steps in progress, divided by its weight. */
  readonly load: (tenant: string) => number
}

/** Counts, per tenant, the steps that the observer is taking but whose claims it has not received yet. */
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
 * Returns the status of the tenants.
 *
 * @param time wall-clock time in milliseconds since 1970
 * @param taking conversations whose steps the observer is taking or already has
 */
export const tenantStatusOf = (
  known: WorkBoard,
  time: number,
  taking: Iterable<string> = [],
): TenantStatus => {
  const { paused, policy, spending } = known
  const taken = takenBy(known, taking)
  const workingFor = (tenant: string): number => known.lanes.forTenant(tenant) + (taken.get(tenant) ?? 0)
  const heldWith = (tenant: string, working: number): HeldBack | undefined => {
    const { limit = Infinity, budget } = policyFor(policy, tenant)
    if (budget && limitReached(budget, spending.of(tenant, budget.per, new Date(time).toISOString())))
      return { why: 'budget', until: endOf(budget.per, time) }
    return working >= limit ? { why: 'limit' } : undefined
  }
  return {
    held: (conversation, step) => {
      if (paused.has(conversation)) return { why: 'paused' }
      const tenant = tenantOf(step)
      // A step taken over from a dead worker is already included in the count.
      return heldWith(tenant, workingFor(tenant) - (isInProgress(step) ? 1 : 0))
    },
    heldFor: (tenant) => heldWith(tenant, workingFor(tenant)),
    load: (tenant) => workingFor(tenant) / (policyFor(policy, tenant).weight ?? 1),
  }
}

/**
 * Reports whether a received claim is within its tenant's limit. Simultaneous claims count in the order in which they appear in the
 * log, so that all workers agree.
 */
export const isWithinLimit = (known: WorkBoard, conversation: string): boolean => {
  const { steps, policy, lastClaim, lanes } = known
  const orderOf = (id: string): number => lastClaim(id)?.order ?? -1
  const step = steps.get(conversation)
  if (!step) return true
  const tenant = tenantOf(step)
  const { limit = Infinity } = policyFor(policy, tenant)
  const own = orderOf(conversation)
  const before = [...lanes.inProgress].filter(
    ([id, other]) => tenantOf(other) === tenant && orderOf(id) < own,
  )
  return before.length < limit
}
