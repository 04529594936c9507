import type { WorkBoard } from './known.ts'
import type { OpenStep } from './open-step.ts'

/** A worker among others. Times in milliseconds. */
export interface InLine {
  readonly worker: string
  /** A worker that nothing was heard of for this long is taken for dead. */
  readonly ttl: number
  /** It stands by: it only takes what others have died of. */
  readonly isStandby?: boolean | undefined
  /** Workers that were waited for and did not come, and when they were last heard of then: until they say something, nobody waits again. */
  readonly tardy: ReadonlyMap<string, number>
}

/** A worker that lives, as far as is known. */
interface Living {
  readonly worker: string
  readonly hash: number
  /** It has a free slot, and comes when it is waited for. */
  readonly isReady: boolean
}

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/**
 * Each conversation has its own order of workers, which all of them know: the lowest comes first. Whoever looks for work asks this for
 * every open step and every worker, so it has to be cheap.
 */
const weight = (conversation: number, worker: number): number => {
  let mixed = conversation ^ worker
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** An idle worker says something every 6 TTLs. */
const idleSilence = 7

/** Those who take what this worker takes. Whoever stands by takes one step at a time, and says that it has no slots: so nobody else waits for it. */
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

/** Where a worker is in the order of a conversation. */
interface PlaceInLine {
  readonly ahead: readonly Living[]
  /** By which it is there: another number for each conversation and each worker. */
  readonly weight: number
}

/** Tells who comes before this worker for a conversation: who held it last is first, its prompt cache is warm. */
export const lineOf = (known: WorkBoard, me: InLine, now: number) => {
  let others: readonly Living[] | undefined
  return (conversation: string, step: OpenStep): PlaceInLine => {
    // Whoever looks finds nothing to ask this for, most often.
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
