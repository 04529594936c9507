import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'
import { talk } from './talk.ts'

/** Small tenants that come while a big one has much to do. `overtaken`: how many calls of the model began before that of each. */
export const overtaking = (tenants: number) => {
  const overtaken: number[] = []
  const more = async (scene: Scene): Promise<void> => {
    const { model, watch, prefix } = scene
    while (watch.claims.length < 10) await sleep(5)
    for (let n = 0; n < tenants; n++) {
      const tenant = `small${n}-`
      const before = model.calls.length
      await talk(scene, { conversations: 1, rounds: 1, tenant })
      overtaken.push(model.calls.findIndex(({ chat }) => chat === `${prefix}${tenant}0`) - before)
    }
  }
  return { overtaken, more }
}
