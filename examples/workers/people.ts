import { setTimeout as sleep } from 'node:timers/promises'
import type { Conversation } from '../../src/index.ts'

/** What people have done so far. */
export interface Deeds {
  asked: number
  rewound: number
}

interface Surroundings {
  /** Resolves once a conversation has nothing left to do for a worker; false if that took longer. */
  readonly answered: (conversation: string, ms: number) => Promise<boolean>
  readonly onRewind: (conversation: string) => void
  /** From then on people listen, and say nothing more. */
  readonly signal: AbortSignal
}

const between = (least: number, most: number): number => least + Math.random() * (most - least)
const mayRewind = 0.06
const longest = 60_000

const words = (): string =>
  Math.random() < 0.4 ? 'Thank you.' : `Order ${Math.floor(between(1_000, 10_000))} has arrived broken.`

/** Somebody who talks, and waits for each answer; now and then they take their words back before it is there, and say something else. */
export const talk = async (
  chat: Conversation,
  deeds: Deeds,
  { answered, onRewind, signal }: Surroundings,
): Promise<void> => {
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {})
  const say = async (): Promise<void> => {
    await chat.append({ role: 'user', content: words() }, { answer: true })
    deeds.asked++
  }
  await pause(between(0, 4_000))
  while (!signal.aborted) {
    await say()
    if (Math.random() < mayRewind && !(await answered(chat.id, between(200, 1_200))) && !signal.aborted) {
      await chat.rewind({ turns: 1 })
      deeds.rewound++
      onRewind(chat.id)
      await say()
    }
    await answered(chat.id, longest)
    await pause(between(2_000, 7_000))
  }
}
