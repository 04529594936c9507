import type { WorkBoard } from './work-board.ts'
import type { OpenStep } from './open-step.ts'

/** A worker that competes with others for steps. Times are in milliseconds. */
export interface InLine {
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
const weight = (conversation: number, worker: number): number => {
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
  { progress, workers }: WorkBoard,
  { ttl, tardy, isStandby: isOne = false }: InLine,
  now: number,
): readonly Living[] =>
  [...workers].flatMap(([worker, { slots = 0, heardAt, isPaused, isStandby = false }]) => {
    const busy = progress.withWorker(worker)
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
export const lineOf = (known: WorkBoard, me: InLine, now: number) => {
  let others: readonly Living[] | undefined
  return (conversation: string, step: OpenStep): PlaceInLine => {
    // Computed only when needed: most searches do not need it.
    others ??= livingIn(known, me, now).filter(({ worker }) => worker !== me.worker)
    const last = step.last ?? known.lastClaim(conversation)?.worker
    if (last === me.worker || others.length === 0) return { ahead: [], weight: 0 }
    const hash = hashOf(conversation)
    const own = weight(hash, hashOf(me.worker))
    return {
      ahead: others.filter((other) => other.worker === last || weight(hash, other.hash) < own),
      weight: own,
    }
  }
}
