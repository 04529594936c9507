import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'

/** Small tenants that come while a big one has much to do. `overtaken`: how many calls of the model began between what each has said and its own. */
export const overtaking = (tenants: number) => {
  const overtaken: number[] = []
  const more = async ({ model, store, watch, prefix, signal }: Scene): Promise<void> => {
    while (watch.claims.length < 10 && !signal.aborted) await sleep(5)
    for (let n = 0; n < tenants; n++) {
      const tenant = `small${n}`
      const chat = store.conversation(`${prefix}${tenant}`)
      await chat.append({ role: 'user', content: 'hello' }, { answer: { tenant } })
      const before = model.calls.length
      await watch.next(chat.id, 0)
      overtaken.push(model.calls.findIndex((call) => call.chat === chat.id) - before)
    }
  }
  return { overtaken, more }
}
