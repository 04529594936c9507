import { mourning } from './attempts.ts'
import { standingOf } from './holding.ts'
import type { WorkBoard } from './known.ts'
import { type InLine, lineOf } from './line.ts'
import { isFree, isSuspect, type OpenStep, tenantOf } from './open-step.ts'

/** Who looks for work, and how long it waits for others. Times in milliseconds. */
export interface Me extends InLine {
  /** How long each worker that should be quicker is waited for. */
  readonly rankWait: number
  /** Conversations that this worker is busy with. */
  readonly isBusyWith: (conversation: string) => boolean
  /** Those of them whose steps it is taking, or has. */
  readonly taking: () => Iterable<string>
  /** The wall clock, in milliseconds since 1970: budgets have the periods of the calendar. */
  readonly time: () => number
}

/** What to take, or when to look again; by the observer's clock. */
export interface PickResult {
  readonly conversation?: string
  readonly step?: OpenStep
  /** Who should have been quicker to take it. */
  readonly passed: readonly string[]
  readonly lookAt: number
}

/** When a step becomes free for whoever is first in line, of those who take such steps; Infinity if that takes an event. */
const freeAt = (
  conversation: string,
  step: OpenStep,
  { workers }: WorkBoard,
  { worker, ttl }: Me,
): number => {
  if (isFree(step) || (step.stage === 'open' && step.holder === worker))
    return Math.max(step.freeAt, step.notBefore)
  if (step.stage !== 'open' || step.holder === undefined) return Infinity
  const silentAt = (workers.get(step.holder)?.heardAt ?? step.freeAt) + ttl
  return Math.max(silentAt + mourning(conversation, step.attempt), step.notBefore)
}

const minute = 60_000

/** For how many whole minutes a step has waited, its attempts included: whoever lost one keeps its place. */
const minutesOf = ({ waitsSince }: OpenStep, now: number): number => Math.floor((now - waitsSince) / minute)

/** The class of a step: it rises as the step waits. */
const classOf = (step: OpenStep, now: number): number =>
  Math.max(0, (step.asking.priority ?? 0) - minutesOf(step, now))

const isBefore = (one: readonly number[], other: readonly number[]): boolean => {
  const index = one.findIndex((value, at) => value !== other[at])
  return index >= 0 && (one[index] as number) < (other[index] as number)
}

/**
 * The step that this worker should take now: of the best class; then of the tenant that has the least in progress for its weight, or has
 * had the fewest claims; then one that has waited more minutes; then one that comes to this worker first of all, and of these the one that
 * has waited longest. What comes to others first, each worker takes in an order of its own, so that not all of them claim the same. Whoever stands
 * by only takes what workers may die of.
 */
export const pick = (known: WorkBoard, me: Me, now: number): PickResult => {
  const time = me.time()
  const standing = standingOf(known, time, me.taking())
  const placeOf = lineOf(known, me, now)
  // What workers may die of is left to whoever stands by, for a while.
  const leave = !me.isStandby && known.lanes.suspects.size > 0 && known.hasStandby(now, me.ttl) ? me.ttl : 0
  let lookAt = Infinity
  let best: Omit<PickResult, 'lookAt'> = { passed: [] }
  let order: readonly number[] = []
  const wait = (at: number): void => {
    lookAt = Math.min(lookAt, at)
  }
  /** @param others for a step that comes to others before: in which order it comes to this worker */
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
    // Most steps that are in progress are their holders' for now: who would come before this worker is not asked.
    if (free > now) return wait(free)
    const { ahead, weight } = placeOf(conversation, step)
    const waitedFor = ahead.filter(({ isReady }) => isReady)
    // Whatever its rank, it has waited long enough.
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
      // None of those that have waited less comes before the best.
      if (best.step && !isBefore(orderOf(step, tenant), order)) break
      consider(conversation, step)
    }
  }
  return { ...best, lookAt }
}
