import { createInterface } from 'node:readline'
import { setImmediate as eventLoop } from 'node:timers/promises'
import { deeds, play, type Played, type PlayOptions } from './play.ts'
import { virtualise } from './virtual-time.ts'

// `plays.ts PLAYS`: plays orders in a virtual process, and prints what came of them as JSON. What is wrong comes with what repeats it.
// Without an argument, the plays are the lines of the standard input, each answered by a line.

/**
 * - `calm`: orders by seed, with crashes, and with `options`;
 * - `wronged`: also with workers that are presumed dead, or as slow as if they were;
 * - `programs`: with two programs that give turns;
 * - `programs-wronged`: both;
 * - `deeds`: one order again and again, each time with something that happens right before a certain step;
 * - `twice`: the same order twice;
 * - `fence`, `claim`: without that, until something is wrong.
 */
export interface Plays {
  readonly kind: 'calm' | 'wronged' | 'programs' | 'programs-wronged' | 'deeds' | 'twice' | 'fence' | 'claim'
  /** The first seed. */
  readonly first: number
  readonly count: number
  readonly options?: PlayOptions
}

export interface Outcome {
  readonly plays: number
  readonly steps: number
  readonly replies: number
  readonly claims: number
  /** Each with what repeats it. */
  readonly wrong: readonly string[]
}

/** Fields that depend on random salts. */
const salted = /"(digest|rest)":"[^"]*"/g
const uuids = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g

async function* played({ kind, first, count, options }: Plays): AsyncGenerator<Played, void> {
  const one = async (seed: number, given: PlayOptions = {}): Promise<Played> => {
    const came = await play(seed, given)
    // Orders run from one microtask to the next: what is freed of them, is freed here.
    await eventLoop()
    const again = JSON.stringify({ kind: 'calm', first: seed, count: 1, options: given } satisfies Plays)
    return { ...came, wrong: came.wrong.map((what) => `${what}; plays.ts '${again}'`) }
  }
  for (let seed = first, done = 0; done < count; seed++, done++) {
    if (kind === 'calm') yield one(seed, options)
    if (kind === 'wronged') yield one(seed, { isWronged: true })
    if (kind === 'programs') yield one(seed, { hasPrograms: true })
    if (kind === 'programs-wronged') yield one(seed, { hasPrograms: true, isWronged: true })
    if (kind === 'fence' || kind === 'claim') {
      const came = await one(seed, { without: kind })
      yield came
      if (came.wrong.length > 0) return
    }
    if (kind === 'twice') {
      const came = await one(seed)
      const [once, again] = [came, await one(seed)].map(({ log }) =>
        log.join().replaceAll(uuids, '').replaceAll(salted, ''),
      )
      yield { ...came, wrong: once === again ? [] : [`seed ${seed} does not repeat`] }
    }
    if (kind === 'deeds') {
      const { steps } = await one(seed)
      const all = steps * deeds.length
      // Fewer than all are spread over all.
      const stride = Math.max(1, Math.floor(all / (count - done)))
      for (let n = 0; n < all && done < count; n += stride, done++) {
        const what = deeds[n % deeds.length]
        if (what) yield one(seed, { deed: { what, at: Math.floor(n / deeds.length) } })
      }
    }
  }
}

const outcomeOf = async (plays: Plays): Promise<Outcome> => {
  const sum = { plays: 0, steps: 0, replies: 0, claims: 0 }
  const wrong: string[] = []
  for await (const one of played(plays)) {
    sum.plays++
    sum.steps += one.steps
    sum.replies += one.replies
    sum.claims += one.claims
    wrong.push(...one.wrong)
  }
  return { ...sum, wrong }
}

await virtualise()
const [, , given] = process.argv
for await (const line of given === undefined ? createInterface(process.stdin) : [given])
  process.stdout.write(`${JSON.stringify(await outcomeOf(JSON.parse(line) as Plays))}\n`)
