import { hash } from 'node:crypto'
import { mourning } from './attempts.ts'
import { standingOf } from './holding.ts'
import type { Known } from './known.ts'
import { type OpenStep, tenantOf } from './open-step.ts'

/** Who looks for work, and how long it waits for others. Times in milliseconds. */
export interface Me {
  readonly worker: string
  /** A worker that nothing was heard of for this long is taken for dead. */
  readonly ttl: number
  /** How long each worker that should be quicker is waited for. */
  readonly rankWait: number
  /** Workers that were waited for and did not come, and when they were last heard of then: until they say something, nobody waits again. */
  readonly tardy: ReadonlyMap<string, number>
  /** Conversations that this worker is busy with. */
  readonly isBusyWith: (conversation: string) => boolean
  /** Those of them whose steps it is taking, or has. */
  readonly taking: () => Iterable<string>
  /** The wall clock, in milliseconds since 1970: budgets have the periods of the calendar. */
  readonly time: () => number
}

/** What to take, or when to look again; by the observer's clock. */
export interface Picked {
  readonly conversation?: string
  readonly step?: OpenStep
  /** Who should have been quicker to take it. */
  readonly passed: readonly string[]
  readonly lookAt: number
}

/** When a step becomes free for whoever is first in line; Infinity if that takes an event. */
const freeAt = (conversation: string, step: OpenStep, { workers }: Known, { worker, ttl }: Me): number => {
  if (step.stage !== 'open') return Infinity
  if (step.holder === undefined || step.holder === worker) return Math.max(step.freeAt, step.notBefore)
  const silentAt = (workers.get(step.holder)?.heardAt ?? step.freeAt) + ttl
  return Math.max(silentAt + mourning(conversation, step.attempt), step.notBefore)
}

/** Each conversation has its own order of workers, which all of them know. */
const weight = (conversation: string, worker: string): string => hash('sha1', `${conversation} ${worker}`)

/** An idle worker says something every 6 TTLs. */
const idleSilence = 7

/** The workers that live, as far as is known, and have a free slot. */
const readyIn = ({ progress, workers }: Known, { ttl, tardy }: Me, now: number): readonly string[] =>
  [...workers].flatMap(([worker, { slots = 0, heardAt, isPaused }]) => {
    const busy = progress.withWorker(worker)
    const isAlive = now - heardAt <= ttl * (busy > 0 ? 1 : idleSilence)
    return isAlive && !isPaused && slots > busy && tardy.get(worker) !== heardAt ? [worker] : []
  })

/** Which of those should take the conversation before this one: who held it last is first, its prompt cache is warm. */
const before = (
  conversation: string,
  step: OpenStep,
  { lastClaim }: Known,
  worker: string,
  ready: readonly string[],
): readonly string[] => {
  const last = step.last ?? lastClaim(conversation)?.worker
  if (last === worker) return []
  const own = weight(conversation, worker)
  return ready.filter((other) => other !== worker && (other === last || weight(conversation, other) < own))
}

const minute = 60_000

/** The class of a step: it rises as the step waits. */
const classOf = ({ asking, freeAt: since }: OpenStep, now: number): number =>
  Math.max(0, (asking.priority ?? 0) - Math.floor((now - since) / minute))

const isBefore = (one: readonly number[], other: readonly number[]): boolean => {
  const index = one.findIndex((value, at) => value !== other[at])
  return index >= 0 && (one[index] as number) < (other[index] as number)
}

/**
 * The step that this worker should take now: of the best class; then of the tenant that has the least in progress for its weight, or has
 * had the fewest claims; then the one that has waited longest.
 */
export const pick = (known: Known, me: Me, now: number): Picked => {
  const time = me.time()
  const standing = standingOf(known, time, me.taking())
  const ready = readyIn(known, me, now)
  const aheadOf = (conversation: string, step: OpenStep): readonly string[] =>
    before(conversation, step, known, me.worker, ready)
  let lookAt = Infinity
  let best: { readonly conversation: string; readonly step: OpenStep } | undefined
  let order: readonly number[] = []
  for (const [conversation, step] of known.steps) {
    if (me.isBusyWith(conversation)) continue
    const free = freeAt(conversation, step, known, me)
    const held = free < Infinity ? standing.held(conversation, step) : undefined
    if (held) {
      lookAt = Math.min(lookAt, now + (held.until ?? Infinity) - time)
      continue
    }
    // Whatever its rank, it has waited long enough.
    const isLate = now - free >= me.rankWait * known.workers.size
    const at = free > now || isLate ? free : free + me.rankWait * aheadOf(conversation, step).length
    if (at > now) {
      lookAt = Math.min(lookAt, at)
      continue
    }
    const tenant = tenantOf(step)
    const its = [classOf(step, now), standing.load(tenant), known.fairness.of(tenant), step.freeAt]
    if (best && !isBefore(its, order)) continue
    best = { conversation, step }
    order = its
  }
  return { ...best, passed: best ? aheadOf(best.conversation, best.step) : [], lookAt }
}
