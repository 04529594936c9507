import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'

/** How long a scene may take, in milliseconds. */
export interface Limits {
  /** Without anything claimed, answered, parked or gone wrong. */
  readonly quiet: number
  readonly whole: number
}

/** How often it looks, in milliseconds. */
const every = 100

/** Ends a scene that comes to nothing. */
interface Ward {
  /** Rejects, with all that is known of the scene, once nothing happens in it any more, it takes too long, or a worker has ended by itself. */
  readonly failed: Promise<never>
  readonly end: () => void
}

/** Whatever is wrong with a store, that is part of what is said of the scene. */
const openIn = async ({ store, prefix }: Scene): Promise<readonly string[]> => {
  const open: string[] = []
  const read = async (): Promise<void> => {
    for await (const step of store.steps({ conversations: [prefix] })) open.push(JSON.stringify(step))
  }
  await Promise.race([
    read().catch((error: unknown) => open.push(`the store cannot be read: ${String(error)}`)),
    sleep(5_000).then(() => open.push('the store does not answer')),
  ])
  return open
}

const diagnosis = async (here: Scene): Promise<string> => {
  const { watch, fleet, place, model } = here
  const list = (title: string, lines: readonly string[]): readonly string[] => [
    `${title}: ${lines.length}`,
    ...lines.slice(-30).map((line) => `  ${line}`),
  ]
  const calling = model.calls.filter(({ ended }) => ended === Infinity)
  return [
    `store: ${place.url}`,
    ...list('conversations that are waited for', watch.waitedFor()),
    ...list('open steps', await openIn(here)),
    ...list(
      'calls of the model that are not answered',
      calling.map(({ chat, worker }) => `${chat} by ${worker}`),
    ),
    ...list('worker processes', fleet.states()),
    ...list('last events', watch.last),
  ].join('\n')
}

export const ward = (here: Scene, { quiet, whole }: Limits): Ward => {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const fail = async (why: string): Promise<void> => {
    clearInterval(timer)
    reject(new Error(`${why}\n${await diagnosis(here)}`))
  }
  const began = performance.now()
  let [silent, before, looked] = [0, -1, began]
  const timer = setInterval(() => {
    const now = performance.now()
    const happened = here.watch.happened() + here.fleet.troubles.length + here.returns.length
    // Where the machine is so busy that this does not run, the scene does not run either.
    silent = happened === before ? silent + Math.min(now - looked, 2 * every) : 0
    looked = now
    before = happened
    if (silent > quiet) void fail(`nothing has happened for ${quiet} ms`)
    else if (now - began > whole) void fail(`it takes longer than ${whole} ms`)
  }, every)
  void here.fleet.lost.then((who) => fail(`nobody has ended this worker: ${who}`))
  return { failed: promise, end: () => clearInterval(timer) }
}
