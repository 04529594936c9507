import { setImmediate as eventLoop } from 'node:timers/promises'

/** One of those that are measured against each other. */
export interface Contender {
  readonly name: string
  /** Does one round of work; returns milliseconds for one unit of it (a message, a load). */
  readonly round: () => Promise<number>
}

/** Milliseconds a unit, of every round, by contender. */
export type Rounds = ReadonlyMap<string, readonly number[]>

/**
 * Runs the contenders in turn, round after round, so that a slow spell of the machine meets all of them; each round begins with
 * another one. One round each goes before and is not counted. Before each, the event loop comes round: V8 collects garbage then, which
 * would else count against whoever first awaits something.
 */
export const alternate = async (contenders: readonly Contender[], rounds: number): Promise<Rounds> => {
  const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const index of contenders.keys()) {
      const contender = contenders[(index + round + 1) % contenders.length]
      if (!contender) continue
      await eventLoop()
      const spent = await contender.round()
      if (round >= 0) times.get(contender.name)?.push(spent)
    }
  }
  return times
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [below = Number.NaN, above = Number.NaN] = [
    sorted[sorted.length % 2 ? middle : middle - 1],
    sorted[middle],
  ]
  return (below + above) / 2
}

/** The median time of a contender, in milliseconds a unit. */
export const timeOf = (rounds: Rounds, name: string): number => median(rounds.get(name) ?? [])

/** The median over the rounds of how often `below`'s time goes into `above`'s. */
export const ratioOf = (rounds: Rounds, above: string, below: string): number => {
  const divisors = rounds.get(below) ?? []
  return median((rounds.get(above) ?? []).map((time, round) => time / (divisors[round] ?? Number.NaN)))
}

/** How many milliseconds something takes. */
export const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
