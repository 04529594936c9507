import { randomUUID } from 'node:crypto'
import type { Actor } from '../../events/events.ts'
import type { TurnClaimant } from '../../conversation/beside/party.ts'
import { run } from '../../result/fallible.ts'
import type { EventStore } from '../../store/port.ts'
import { beatShare } from './heartbeat.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import type { Clock } from './clock.ts'
import { isGone } from './is-gone.ts'
import { often } from './vigil.ts'

/** Returns the claimant for a program that runs turns. Unlike a worker, it records beats only during long turns and takes no steps. */
export const programOn = (store: EventStore, actor: Actor, clock: Clock): TurnClaimant => {
  const id = `program-${randomUUID()}`
  /** Silence allowed to each of the program's turns in progress. */
  const lives = new Set<{ readonly ttl: number }>()
  let release: (() => void) | undefined
  let cancel = (): void => {}

  const wind = (): void => {
    cancel()
    if (lives.size === 0) return
    const ttl = Math.min(...[...lives].map((life) => life.ttl))
    cancel = clock.after(ttl * beatShare, () => void beat())
  }
  const beat = async (): Promise<void> => {
    wind()
    await run(tell(store, actor, id, { type: 'WorkerBeat', data: { slots: 0, busy: lives.size } }))
  }
  return {
    id,
    isWorker: false,
    clock,
    holds: new Set(),
    live: (ttl) => {
      const life = { ttl }
      if (lives.size === 0) release = store.liveness?.hold(id)
      lives.add(life)
      wind()
      return () => {
        lives.delete(life)
        if (lives.size === 0) release?.()
        wind()
      }
    },
    isGone: (other) => isGone(store, actor, other),
    lookEvery: store.liveness ? often : Infinity,
  }
}
