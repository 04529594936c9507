import { isFree, isSuspect, type OpenStep, takeoverDelay, tenantOf } from '../board/open-step.ts'
import type { WorkBoard } from '../board/work-board.ts'
import { tenantStatusOf } from './tenant-status.ts'

/** A worker that competes with others for steps, with the delays by which it lets them go first. Times are in milliseconds. */
export interface PickingWorker {
  readonly worker: string
  /** Milliseconds of silence after which a worker counts as dead. */
  readonly ttl: number
  /** True for a standby worker, which takes only steps during which other workers died. */
  readonly isStandby?: boolean | undefined
  /**
   * Workers that took no step although other workers waited for them, with the time of each such worker's last sign of life. Other
   * workers do not wait for such a worker again until its next sign of life.
   */
  readonly tardy: ReadonlyMap<string, number>
  /** Milliseconds to wait for each worker that should take the step first. */
  readonly rankWait: number
  /** Reports whether this worker is busy with a conversation. */
  readonly isBusyWith: (conversation: string) => boolean
  /** Returns the conversations whose steps this worker is taking or already has. */
  readonly taking: () => Iterable<string>
  /** Returns the wall-clock time in milliseconds since 1970: budgets follow calendar periods. */
  readonly time: () => number
}

/** A worker that is believed to be alive. */
interface Living {
  readonly worker: string
  readonly hash: number
  /** True if the worker has a free slot and takes steps when others wait for it. */
  readonly isReady: boolean
}

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/**
 * Returns the weight of a worker for a conversation. Each conversation has its own order of workers, lowest weight first, which every
 * worker computes identically. The weight is computed for every open step and every worker, so it must be cheap.
 */
const weightOf = (conversation: number, worker: number): number => {
  let mixed = conversation ^ worker
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Number of TTLs for which an idle worker may be silent. It beats every 6 TTLs. */
const idleSilence = 7

/**
 * Returns the living workers that take the same kind of steps as this one. A standby worker takes one step at a time, and announces no
 * slots so that no other worker waits for it.
 */
const livingIn = (
  { lanes, workers }: WorkBoard,
  { ttl, tardy, isStandby: isOne = false }: PickingWorker,
  now: number,
): readonly Living[] =>
  [...workers].flatMap(([worker, { slots = 0, heardAt, isPaused, isStandby = false }]) => {
    const busy = lanes.withWorker(worker)
    const isAlive = now - heardAt <= ttl * (busy > 0 ? 1 : idleSilence)
    const isReady = (isStandby ? 1 : slots) > busy && tardy.get(worker) !== heardAt
    return isAlive && !isPaused && isStandby === isOne ? [{ worker, hash: hashOf(worker), isReady }] : []
  })

/** Place of a worker in the order of workers for a conversation. */
interface PlaceInLine {
  readonly ahead: readonly Living[]
  /** Weight that determines the place; it differs for each conversation and worker. */
  readonly weight: number
}

/**
 * Returns a function that lists the workers ahead of this one for a conversation. The last holder comes first, because its prompt cache
 * is warm.
 */
export const lineOf = (known: WorkBoard, me: PickingWorker, now: number) => {
  let others: readonly Living[] | undefined
  return (conversation: string, step: OpenStep): PlaceInLine => {
    // Computed only when needed: most searches do not need it.
    others ??= livingIn(known, me, now).filter(({ worker }) => worker !== me.worker)
    const last = step.last ?? known.lastClaim(conversation)?.worker
    if (last === me.worker || others.length === 0) return { ahead: [], weight: 0 }
    const hash = hashOf(conversation)
    const own = weightOf(hash, hashOf(me.worker))
    return {
      ahead: others.filter((other) => other.worker === last || weightOf(hash, other.hash) < own),
      weight: own,
    }
  }
}

/** The step to take, if any, and the time to look again, by the observer's clock. */
export interface PickResult {
  readonly conversation?: string
  readonly step?: OpenStep
  /** Workers that should have taken the step sooner. */
  readonly passed: readonly string[]
  readonly lookAt: number
}

/**
 * Returns the time at which a step becomes available to the first worker in the conversation's order; Infinity if it becomes available
 * only after another event.
 */
const freeAt = (
  conversation: string,
  step: OpenStep,
  { workers }: WorkBoard,
  { worker, ttl }: PickingWorker,
): number => {
  if (isFree(step) || (step.stage === 'open' && step.holder === worker))
    return Math.max(step.freeAt, step.notBefore)
  if (step.stage !== 'open' || step.holder === undefined) return Infinity
  const silentAt = (workers.get(step.holder)?.heardAt ?? step.freeAt) + ttl
  return Math.max(silentAt + takeoverDelay(conversation, step.attempt), step.notBefore)
}

const minute = 60_000

/** Returns the whole minutes that a step has waited, including its attempts: a failed attempt does not cost the step its place. */
const minutesOf = ({ waitsSince }: OpenStep, now: number): number => Math.floor((now - waitsSince) / minute)

/** Returns the class of a step: its priority minus the minutes that it has waited, at least 0. Lower classes come first. */
const classOf = (step: OpenStep, now: number): number =>
  Math.max(0, (step.asking.priority ?? 0) - minutesOf(step, now))

const isBefore = (one: readonly number[], other: readonly number[]): boolean => {
  const index = one.findIndex((value, at) => value !== other[at])
  return index >= 0 && (one[index] as number) < (other[index] as number)
}

/**
 * Returns the step for this worker to take now. Steps are compared by these keys in turn, each deciding only between steps that are
 * equal in all earlier ones: class; number of their tenant's steps in progress, relative to the tenant's weight; their tenant's claims;
 * whole minutes waited; whether this worker ranks first for the conversation. Of the steps for which this worker ranks first, the
 * longest waiting comes first. The order of the remaining steps differs for each worker, so that not all workers claim the same one. A
 * standby worker takes only steps that may kill workers.
 */
export const pick = (known: WorkBoard, me: PickingWorker, now: number): PickResult => {
  const time = me.time()
  const standing = tenantStatusOf(known, time, me.taking())
  const placeOf = lineOf(known, me, now)
  // Suspect steps are left to the standby worker for `ttl` ms.
  const leave = !me.isStandby && known.lanes.suspects.size > 0 && known.hasStandby(now, me.ttl) ? me.ttl : 0
  let lookAt = Infinity
  let best: Omit<PickResult, 'lookAt'> = { passed: [] }
  let order: readonly number[] = []
  const wait = (at: number): void => {
    lookAt = Math.min(lookAt, at)
  }
  /**
   * Returns the values by which steps are compared, most significant first.
   *
   * @param others this worker's weight for the conversation, if other workers rank before it
   */
  const orderOf = (step: OpenStep, tenant: string, others?: number): readonly number[] => {
    const [load, turn] = [standing.load(tenant), known.fairness.of(tenant)]
    const last = others === undefined ? [0, step.waitsSince] : [1, others]
    return [classOf(step, now), load, turn, -minutesOf(step, now), ...last]
  }

  const consider = (conversation: string, step: OpenStep): void => {
    if (me.isBusyWith(conversation)) return
    const free = freeAt(conversation, step, known, me) + (isSuspect(step) ? leave : 0)
    const held = standing.held(conversation, step)
    if (held) return wait(now + (held.until ?? Infinity) - time)
    // Most steps in progress still belong to their holders, so the order of workers is not computed for them.
    if (free > now) return wait(free)
    const { ahead, weight } = placeOf(conversation, step)
    const waitedFor = ahead.filter(({ isReady }) => isReady)
    // The step has waited long enough for a worker of any rank.
    const isLate = now - free >= me.rankWait * known.workers.size
    const at = isLate ? free : free + me.rankWait * waitedFor.length
    if (at > now) return wait(at)
    const its = orderOf(step, tenantOf(step), ahead.length > 0 ? weight : undefined)
    if (best.step && !isBefore(its, order)) return
    best = { conversation, step, passed: waitedFor.map(({ worker }) => worker) }
    order = its
  }

  if (me.isStandby) {
    for (const [conversation, step] of known.lanes.suspects) consider(conversation, step)
    return { ...best, lookAt }
  }
  for (const [conversation, step] of known.lanes.inProgress) consider(conversation, step)
  for (const { tenant, steps } of known.lanes.free()) {
    const held = standing.heldFor(tenant)
    if (held) {
      wait(now + (held.until ?? Infinity) - time)
      continue
    }
    for (const [conversation, step] of steps) {
      // No step that has waited less precedes the best one found so far.
      if (best.step && !isBefore(orderOf(step, tenant), order)) break
      consider(conversation, step)
    }
  }
  return { ...best, lookAt }
}
