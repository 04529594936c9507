import { hash } from 'node:crypto'
import { mourning } from './attempts.ts'
import type { Known } from './known.ts'
import type { OpenStep } from './open-step.ts'

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
const readyIn = ({ steps, workers }: Known, { ttl, tardy }: Me, now: number): readonly string[] => {
  const held = new Map<string, number>()
  for (const { holder, stage } of steps.values())
    if (holder !== undefined && stage !== 'over') held.set(holder, (held.get(holder) ?? 0) + 1)
  return [...workers].flatMap(([worker, { slots = 0, heardAt }]) => {
    const busy = held.get(worker) ?? 0
    const isAlive = now - heardAt <= ttl * (busy > 0 ? 1 : idleSilence)
    return isAlive && slots > busy && tardy.get(worker) !== heardAt ? [worker] : []
  })
}

/** Which of those should take the conversation before this one: who held it last is first, its prompt cache is warm. */
const before = (
  conversation: string,
  { last }: OpenStep,
  worker: string,
  ready: readonly string[],
): readonly string[] => {
  if (last === worker) return []
  const own = weight(conversation, worker)
  return ready.filter((other) => other !== worker && (other === last || weight(conversation, other) < own))
}

const minute = 60_000

/** What comes first: the class, which rises as the step waits; then whose tenant has the fewest in work; then the oldest. */
const orderOf = (step: OpenStep, working: ReadonlyMap<string, number>, now: number) => {
  const { tenant, priority = 0 } = step.asking
  const waited = Math.floor((now - step.freeAt) / minute)
  return [Math.max(0, priority - waited), working.get(tenant ?? '') ?? 0, step.freeAt] as const
}

const isBefore = (one: readonly number[], other: readonly number[]): boolean => {
  const index = one.findIndex((value, at) => value !== other[at])
  return index >= 0 && (one[index] as number) < (other[index] as number)
}

/** How many steps of each tenant are in work. */
const workingOf = ({ steps }: Known): ReadonlyMap<string, number> => {
  const working = new Map<string, number>()
  for (const { holder, asking } of steps.values())
    if (holder !== undefined) working.set(asking.tenant ?? '', (working.get(asking.tenant ?? '') ?? 0) + 1)
  return working
}

/** The step that this worker should take now. */
export const pick = (known: Known, me: Me, now: number): Picked => {
  const working = workingOf(known)
  const ready = readyIn(known, me, now)
  const aheadOf = (conversation: string, step: OpenStep): readonly string[] =>
    before(conversation, step, me.worker, ready)
  let lookAt = Infinity
  let best: { readonly conversation: string; readonly step: OpenStep } | undefined
  let order: readonly number[] = []
  for (const [conversation, step] of known.steps) {
    if (me.isBusyWith(conversation)) continue
    const free = freeAt(conversation, step, known, me)
    // Whatever its rank, it has waited long enough.
    const isLate = now - free >= me.rankWait * known.workers.size
    const at = free > now || isLate ? free : free + me.rankWait * aheadOf(conversation, step).length
    if (at > now) {
      lookAt = Math.min(lookAt, at)
      continue
    }
    const its = orderOf(step, working, now)
    if (best && !isBefore(its, order)) continue
    best = { conversation, step }
    order = its
  }
  return { ...best, passed: best ? aheadOf(best.conversation, best.step) : [], lookAt }
}
