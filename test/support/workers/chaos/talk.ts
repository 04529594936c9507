import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'

/** What people do with workers' conversations. */
export interface Talk {
  readonly conversations: number
  /** How many messages each has at least. */
  readonly rounds: number
  /** What is said; the same for each message of a conversation. Default `hello`. */
  readonly say?: (n: number) => string
  /** The fraction of messages that are taken back while they may be being answered. */
  readonly taken?: number
  readonly tenant?: string
}

/** What no worker can answer. */
export const isPoison = (said: string): boolean => said.startsWith('poison')

/** Whether that is said in a conversation of this id. */
export const isPoisoned = (id: string): boolean => id.includes('-poison')

export interface Talked {
  /** Messages that were not taken back. */
  readonly turns: number
  /** How long each took, in milliseconds; those that no worker can answer, until they were parked. */
  readonly waits: readonly number[]
  /** After how many milliseconds whatever had to be said, and can be answered, was answered. */
  readonly answeredAfter: number
}

/** Says something in each conversation, waits for the answer, and says more, at least until all is said that has to be, and `isLong` no more. */
export const talk = async (
  { store, prefix, watch, dice, persistently }: Scene,
  { conversations, rounds, say = () => 'hello', taken = 0, tenant }: Talk,
  isLong: () => boolean = () => false,
): Promise<Talked> => {
  const waits: number[] = []
  const start = performance.now()
  let answeredAfter = 0
  const one = async (n: number): Promise<void> => {
    const chat = store.conversation(`${prefix}${isPoison(say(n)) ? 'poison' : (tenant ?? 'c')}${n}`)
    const answer = tenant === undefined ? true : { tenant }
    for (let round = 0; round < rounds || (isLong() && !isPoison(say(n))); round++) {
      const over = watch.over(chat.id)
      const began = performance.now()
      const content = say(n)
      await persistently((commandId) => chat.append({ role: 'user', content }, { answer, commandId }))
      if (dice() < taken) {
        await sleep(dice() * 50)
        await persistently((commandId) => chat.rewind({ turns: 1, commandId }))
        continue
      }
      await watch.next(chat.id, over)
      const now = performance.now()
      waits.push(now - began)
      if (round < rounds && !isPoison(say(n))) answeredAfter = now - start
    }
  }
  await Promise.all(Array.from({ length: conversations }, (_, n) => one(n)))
  return { turns: waits.length, waits, answeredAfter }
}
