import { setTimeout as sleep } from 'node:timers/promises'
import type { Plan } from './doses.ts'
import { inflict } from './faults.ts'
import { type Figures, figuresOf } from './figures.ts'
import { type Scene, scene } from './scene.ts'
import { talk } from './talk.ts'
import { type Limits, ward } from './ward.ts'

/** Waits until nothing is open any more. */
const settle = async ({ store, prefix, signal }: Scene, patience: number): Promise<void> => {
  const ends = performance.now() + patience
  for (
    let isOpen = true;
    isOpen && performance.now() < ends && !signal.aborted;
    isOpen && (await sleep(20))
  ) {
    isOpen = false
    for await (const { state } of store.steps({ conversations: [prefix] })) isOpen ||= state !== 'parked'
  }
}

interface Playing {
  /** That of the worker processes. */
  readonly program: string
  readonly limits: Limits
  readonly more?: ((scene: Scene) => Promise<void>) | undefined
}

/** Has people talk while things go wrong, until both are over, and gives what came of it. Rejects once the scene comes to nothing. */
export const played = async (
  { setting, talk: said, doses = [] }: Plan,
  { program, limits, more }: Playing,
): Promise<Figures> => {
  const here = await scene(setting, program)
  const guard = ward(here, limits)
  const play = async (): Promise<Figures> => {
    let isOver = false
    const inflicted = Promise.all(doses.map((dose) => inflict(here, dose)))
    void inflicted.finally(() => (isOver = true)).catch(() => {})
    const [talked] = await Promise.all([talk(here, said, () => !isOver), inflicted, more?.(here)])
    await settle(here, limits.quiet)
    return figuresOf(here, talked)
  }
  try {
    return await Promise.race([play(), guard.failed])
  } finally {
    guard.end()
    await here.close()
  }
}
