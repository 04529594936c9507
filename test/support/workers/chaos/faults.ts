import { setTimeout as sleep } from 'node:timers/promises'
import { startHeard } from '../../node.ts'
import { type Child, said } from './fleet.ts'
import type { Scene } from './scene.ts'

// One function for each thing that goes wrong. Each is over when the damage is: what it was done to works again, or another in its place.

type Fault = (scene: Scene) => Promise<void>

const anyOf = ({ fleet, dice }: Scene): Child | undefined =>
  fleet.living[Math.floor(dice() * fleet.living.length)]

/** From 0.5 to 3 times the TTL. */
const aWhile = ({ dice, ttl }: Scene): number => ttl * (0.5 + dice() * 2.5)

/** One that holds a conversation, as soon as there is one: who dies idle, as while it still loads, leaves nothing to take over. */
const kill: Fault = async ({ fleet, watch, dice, signal }) => {
  const busy = (): readonly Child[] => {
    const holders = new Set(watch.holders.values())
    return fleet.living.filter(({ id }) => holders.has(id))
  }
  while (busy().length === 0 && !signal.aborted) await sleep(5)
  const child = busy()[Math.floor(dice() * busy().length)]
  if (child) await fleet.kill(child)
}

const freeze: Fault = async (scene) => {
  const isFree = ({ id }: Child): boolean =>
    !scene.fleet.troubles.some(({ worker, to }) => worker === id && to === Infinity)
  const child = scene.fleet.living.find(isFree)
  if (child) await scene.fleet.freeze(child, aWhile(scene))
}

/** The server dies, and is back after a while. */
const restart: Fault = async ({ place, dice, returns }) => {
  const back = await place.away?.()
  await sleep(100 + dice() * 1_000)
  returns.push(Date.now())
  await back?.()
}

/** A process that writes to the file dies in its transaction. */
const holdLock: Fault = async ({ place, dice, returns }) => {
  const holder = startHeard('agent/workers/children/holder.ts', place.url)
  await said(holder)
  await sleep(100 + dice() * 1_000)
  const exit = new Promise((resolve) => holder.once('exit', resolve))
  returns.push(Date.now())
  holder.kill('SIGKILL')
  await exit
}

const networkFault =
  (what: 'cut' | 'freeze' | 'deafen' | 'slow'): Fault =>
  async (scene) => {
    const child = anyOf(scene)
    const network = child?.network
    if (!child || !network) return
    const trouble = scene.fleet.trouble(child, 'cut')
    if (what === 'slow') network.delay(100 + scene.dice() * 900)
    else network[what]()
    await sleep(aWhile(scene))
    network.heal()
    trouble.to = performance.now()
  }

export const faults = {
  kill,
  freeze,
  restart,
  holdLock,
  cut: networkFault('cut'),
  halfOpen: networkFault('freeze'),
  loseAnswers: networkFault('deafen'),
  slow: networkFault('slow'),
  /** A rolling restart of one worker. */
  replace: async (scene: Scene): Promise<void> => {
    const child = anyOf(scene)
    const code = child && (await scene.fleet.replace(child))
    if (code !== 0 && code !== undefined) throw new Error(`a worker ended with ${code}`)
  },
} satisfies Readonly<Record<string, Fault>>

/** How often something goes wrong, and when. Times in milliseconds. */
export interface Dose {
  readonly fault: keyof typeof faults
  readonly times: number
  /** The shortest and the longest time before each. */
  readonly every: readonly [number, number]
  /** How many at once. */
  readonly lanes?: number
}

export const inflict = async (scene: Scene, { fault, times, every: [least, most], lanes = 1 }: Dose) => {
  let left = times
  const lane = async (): Promise<void> => {
    while (left-- > 0 && !scene.signal.aborted) {
      await sleep(least + scene.dice() * (most - least))
      await faults[fault](scene)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
