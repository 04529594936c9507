import { isFree, isInProgress, isSuspect, type OpenStep, tenantOf } from './open-step.ts'

/** The free open steps of one tenant and priority, longest waiting first. */
export interface Lane {
  readonly tenant: string
  readonly steps: ReadonlyMap<string, OpenStep>
}

/** Index of the steps, which saves a worker from scanning thousands of them whenever it takes one. */
export interface Lanes {
  /** Steps held by a worker, dead or alive, by conversation. */
  readonly inProgress: ReadonlyMap<string, OpenStep>
  readonly free: () => Iterable<Lane>
  /** Steps suspected of killing their workers, whether held or not, by conversation. */
  readonly suspects: ReadonlyMap<string, OpenStep>
  /** Returns the number of a tenant's steps in progress. */
  readonly forTenant: (tenant: string) => number
  /** Returns the number of steps that a worker holds. */
  readonly withWorker: (worker: string) => number
  /** Updates the index when the step of a conversation changes; undefined means that the conversation has no step. */
  readonly changed: (conversation: string, before: OpenStep | undefined, after: OpenStep | undefined) => void
}

const keyOf = (step: OpenStep): string => `${step.asking.priority ?? 0} ${tenantOf(step)}`

/** Reports whether a changed step keeps its place in its lane. */
const stays = (before: OpenStep, after: OpenStep | undefined): boolean =>
  after !== undefined &&
  isFree(after) &&
  keyOf(before) === keyOf(after) &&
  before.waitsSince === after.waitsSince

/** A lane; `newest` is the time since which its last step has been waiting. */
interface OwnLane extends Lane {
  steps: Map<string, OpenStep>
  newest: number
}

const add = (counts: Map<string, number>, name: string, by: number): void => {
  const count = (counts.get(name) ?? 0) + by
  if (count > 0) counts.set(name, count)
  else counts.delete(name)
}

export const lanes = (): Lanes => {
  const inProgress = new Map<string, OpenStep>()
  const free = new Map<string, OwnLane>()
  const suspects = new Map<string, OpenStep>()
  const tenants = new Map<string, number>()
  const workers = new Map<string, number>()

  const count = (step: OpenStep | undefined, by: number): void => {
    if (!step || !isInProgress(step)) return
    add(tenants, tenantOf(step), by)
    add(workers, step.holder ?? '', by)
  }
  const leave = (conversation: string, step: OpenStep): void => {
    const key = keyOf(step)
    const lane = free.get(key)
    lane?.steps.delete(conversation)
    if (lane?.steps.size === 0) free.delete(key)
  }
  const enter = (conversation: string, step: OpenStep): void => {
    const key = keyOf(step)
    const lane: OwnLane = free.get(key) ?? { tenant: tenantOf(step), steps: new Map(), newest: -Infinity }
    const isNew = !lane.steps.has(conversation)
    lane.steps.set(conversation, step)
    // The terms of its request have changed, or its holder has released it: the step keeps its place.
    if (isNew && step.waitsSince < lane.newest)
      lane.steps = new Map(
        [...lane.steps].toSorted(([, one], [, other]) => one.waitsSince - other.waitsSince),
      )
    lane.newest = Math.max(lane.newest, step.waitsSince)
    free.set(key, lane)
  }

  return {
    inProgress,
    suspects,
    free: () => free.values(),
    forTenant: (tenant) => tenants.get(tenant) ?? 0,
    withWorker: (worker) => workers.get(worker) ?? 0,
    changed: (conversation, before, after) => {
      count(before, -1)
      count(after, 1)
      if (before && isFree(before) && !stays(before, after)) leave(conversation, before)
      if (after && isFree(after)) enter(conversation, after)
      if (after && isInProgress(after)) inProgress.set(conversation, after)
      else inProgress.delete(conversation)
      if (after && isSuspect(after)) suspects.set(conversation, after)
      else suspects.delete(conversation)
    },
  }
}

/**
 * Order in which tenants are served, so that they progress in proportion to their weights. Each claim advances its tenant by 1 /
 * weight, and the least advanced tenant is next. A tenant that returns from idleness starts level with the others: it cannot save up
 * its share. (Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.)
 */
export interface TenantFairness {
  readonly claimed: (tenant: string) => void
  /** Returns the tenant's progress. The tenant with the lowest progress is next. */
  readonly of: (tenant: string) => number
}

export const fairness = (weightOf: (tenant: string) => number): TenantFairness => {
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
