import {
  takeoverDelay,
  isSuspect,
  type OpenStep,
  tenantOf,
} from '../../../src/agent/workers/board/open-step.ts'
import { tenantStatusOf } from '../../../src/agent/workers/choosing/tenant-status.ts'
import type { WorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { lineOf, type PickingWorker } from '../../../src/agent/workers/choosing/pick.ts'

/** What a worker might take, with its place in the order. */
interface Candidate {
  readonly conversation: string
  readonly step: OpenStep
  readonly order: readonly number[]
}

const compared = (one: readonly number[], other: readonly number[]): number => {
  const index = one.findIndex((value, at) => value !== other[at])
  return index < 0 ? 0 : (one[index] ?? 0) - (other[index] ?? 0)
}

/** The obvious way to pick: looks at all open steps. Answers with all that come first, or when to look again. */
export const plainPick = (known: WorkBoard, me: PickingWorker, now: number) => {
  const standing = tenantStatusOf(known, me.time(), me.taking())
  const placeOf = lineOf(known, me, now)
  const waits: number[] = []
  const candidates = [...known.steps].flatMap(([conversation, step]): readonly Candidate[] => {
    const { stage, holder, waitsSince, freeAt, notBefore, attempt, asking } = step
    if (stage !== 'open' || me.isBusyWith(conversation) || (me.isStandby && !isSuspect(step))) return []
    const held = standing.held(conversation, step)
    if (held) {
      waits.push(now + (held.until ?? Infinity) - me.time())
      return []
    }
    const silentAt = (known.workers.get(holder ?? '')?.heardAt ?? freeAt) + me.ttl
    const isOpen = holder === undefined || holder === me.worker
    const left = !me.isStandby && isSuspect(step) && known.hasStandby(now, me.ttl) ? me.ttl : 0
    const free = left + Math.max(isOpen ? freeAt : silentAt + takeoverDelay(conversation, attempt), notBefore)
    const { ahead, weight } = placeOf(conversation, step)
    const isLate = now - free >= me.rankWait * known.workers.size
    const ready = ahead.filter(({ isReady }) => isReady).length
    const at = free > now || isLate ? free : free + me.rankWait * ready
    if (at > now) {
      waits.push(at)
      return []
    }
    const tenant = tenantOf(step)
    const waited = Math.floor((now - waitsSince) / 60_000)
    const order = [
      Math.max(0, (asking.priority ?? 0) - waited),
      standing.load(tenant),
      known.fairness.of(tenant),
      -waited,
      ...(ahead.length > 0 ? [1, weight] : [0, waitsSince]),
    ]
    return [{ conversation, step, order }]
  })
  const best = candidates.toSorted((one, other) => compared(one.order, other.order)).at(0)
  return {
    first: candidates.flatMap(({ conversation, order }) =>
      best && compared(order, best.order) === 0 ? [conversation] : [],
    ),
    lookAt: Math.min(Infinity, ...waits),
  }
}
