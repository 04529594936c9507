import { describe, expect, test } from 'vitest'
import { runs } from '../support/runs.ts'
import { play, type Played } from '../support/workers/play.ts'

const first = Number(process.env['PALIMPSEST_SEED'] ?? 0)

/** Plays this many orders, and gives what went wrong in them, with the seed. */
const wrongIn = async (
  count: number,
  options: Parameters<typeof play>[1],
): Promise<{ readonly wrong: readonly string[]; readonly played: readonly Played[] }> => {
  const wrong: string[] = []
  const played: Played[] = []
  for (let n = 0; n < count; n++) {
    const one = await play(first + n, options)
    played.push(one)
    wrong.push(...one.wrong.map((what) => `seed ${first + n}: ${what}`))
  }
  return { wrong, played }
}

const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0)

describe('workers, a person and crashes in any order', () => {
  test('each message is answered once, and nobody calls the model for what another is answering', async () => {
    const { wrong, played } = await wrongIn(runs(12), {})
    expect(wrong).toEqual([])
    expect(sum(played.map(({ replies }) => replies))).toBeGreaterThan(played.length)
  }, 3_600_000)

  test('also where living workers are taken for dead', async () => {
    const { wrong } = await wrongIn(runs(12), { isWronged: true })
    expect(wrong).toEqual([])
  }, 3_600_000)
})

describe('the judge finds, within a few orders, that there is', () => {
  /** Whether one of the first orders goes wrong in this way. */
  const isFound = async (without: 'fence' | 'claim', what: RegExp): Promise<boolean> => {
    for (let seed = first; seed < first + 100; seed++)
      if ((await play(seed, { without })).wrong.some((one) => what.test(one))) return true
    return false
  }

  test('no fence: replies land after what they have not seen', async () => {
    expect(await isFound('fence', /has not seen|answers no message/)).toBe(true)
  })

  test('no claim: two call the model for one conversation', async () => {
    expect(await isFound('claim', /call the model for/)).toBe(true)
  })
})
