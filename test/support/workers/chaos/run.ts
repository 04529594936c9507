import { setTimeout as sleep } from 'node:timers/promises'
import { type Dose, inflict } from './faults.ts'
import { type Figures, figuresOf } from './figures.ts'
import { type Scene, scene, type Setting } from './scene.ts'
import { type Talk, talk } from './talk.ts'

/** How long something may be open after everything is over, in milliseconds. */
const patience = 60_000

/** Waits until nothing is open any more. */
const settle = async ({ store, prefix }: Scene): Promise<void> => {
  const ends = performance.now() + patience
  for (let isOpen = true; isOpen && performance.now() < ends; await sleep(50)) {
    isOpen = false
    for await (const { state } of store.steps({ conversations: [prefix] })) isOpen ||= state !== 'parked'
  }
}

/** Has people talk while things go wrong, until both are over, and gives what came of it. */
export const played = async (
  setting: Setting,
  said: Talk,
  doses: readonly Dose[] = [],
  more?: (scene: Scene) => Promise<void>,
): Promise<Figures> => {
  const here = await scene(setting)
  try {
    let isOver = false
    const inflicted = Promise.all(doses.map((dose) => inflict(here, dose)))
    void inflicted.finally(() => (isOver = true)).catch(() => {})
    const [talked] = await Promise.all([talk(here, said, () => !isOver), inflicted, more?.(here)])
    await settle(here)
    return await figuresOf(here, talked)
  } finally {
    await here.close()
  }
}
