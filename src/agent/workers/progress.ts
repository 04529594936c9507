import { isInProgress, type OpenStep, tenantOf } from './open-step.ts'

/** Numbers of steps in progress, by tenant and by worker. */
export interface ProgressCounts {
  /** Updates the counts after a change of a step; undefined means that no step exists. */
  readonly changed: (before: OpenStep | undefined, after: OpenStep | undefined) => void
  readonly forTenant: (tenant: string) => number
  readonly withWorker: (worker: string) => number
}

export const progress = (): ProgressCounts => {
  const tenants = new Map<string, number>()
  const workers = new Map<string, number>()
  const add = (counts: Map<string, number>, name: string, by: number): void => {
    const count = (counts.get(name) ?? 0) + by
    if (count > 0) counts.set(name, count)
    else counts.delete(name)
  }
  const count = (step: OpenStep | undefined, by: number): void => {
    if (!step || !isInProgress(step)) return
    add(tenants, tenantOf(step), by)
    add(workers, step.holder ?? '', by)
  }
  return {
    changed: (before, after) => {
      count(before, -1)
      count(after, 1)
    },
    forTenant: (tenant) => tenants.get(tenant) ?? 0,
    withWorker: (worker) => workers.get(worker) ?? 0,
  }
}
