import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { node, program, quiet } from '../../support/node.ts'
import { runs } from '../../support/runs.ts'
import { keepDose } from '../../support/workers/chaos/kept.ts'
import type { Outcome, Plays } from '../../support/workers/plays.ts'

const first = Number(process.env['PALIMPSEST_SEED'] ?? 0) % 1_000_000_000
const hour = 3_600_000

/** What a process plays before another takes its place: all cores are busy until shortly before the end. */
const mostAtOnce = 2_000

/** Whether the scenes of chaos.test.ts are played beside them: those take real time, which orders do not, and so come first. */
const isBeside = process.env['PALIMPSEST_CHAOS'] === 'full'

interface Player {
  /** Number of orders that it has been given. */
  given: number
  readonly outcomeOf: (plays: Plays) => Promise<Outcome>
  readonly close: () => Promise<void>
}

/** A process that plays what it is given, one after another. */
const createPlayer = (): Player => {
  const child = spawn(node, [program('support/workers/plays.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: quiet,
  })
  if (isBeside && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  // What becomes of it, its output says.
  child.stdin.on('error', () => {})
  const ended = once(child, 'close')
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const outcomeOf = async (plays: Plays): Promise<Outcome> => {
    child.stdin.write(`${JSON.stringify(plays)}\n`)
    const { value, done } = await answers.next()
    if (done) throw new Error(`a player has ended with ${String((await ended)[0])}`)
    return JSON.parse(value) as Outcome
  }
  const close = async (): Promise<void> => {
    child.stdin.end()
    await ended
  }
  return { given: 0, outcomeOf, close }
}

/** Players, as many as have played at the same time: they load once. */
const players: Player[] = []

/** Has the nth process play, or another in its place. */
const playedBy = async (n: number, plays: Plays): Promise<Outcome> => {
  let player = players[n]
  if (!player || player.given + plays.count > mostAtOnce) {
    await player?.close()
    player = players[n] = createPlayer()
  }
  player.given += plays.count
  return player.outcomeOf(plays)
}

/** A process loads for as long as it takes to play so many. */
const worthAProcess = 50

/** What so many orders come to, by at most as many processes as the machine has cores. */
const outcomesOf = async (kind: Plays['kind'], count: number, most = availableParallelism()) => {
  const lanes = Math.min(most, Math.ceil(count / worthAProcess))
  const share = Math.min(mostAtOnce, Math.ceil(count / lanes))
  const batches = Array.from({ length: Math.ceil(count / share) }, (_, n): Plays => {
    return { kind, first: first + n * share, count: Math.min(share, count - n * share) }
  })
  const outcomes: Outcome[] = []
  const lane = async (_: unknown, n: number): Promise<void> => {
    for (let plays = batches.shift(); plays; plays = batches.shift()) outcomes.push(await playedBy(n, plays))
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const sum = (field: 'plays' | 'replies'): number =>
    outcomes.reduce((all, outcome) => all + outcome[field], 0)
  return { plays: sum('plays'), replies: sum('replies'), wrong: outcomes.flatMap(({ wrong }) => wrong) }
}

/** What the orders came to that are to be right. */
const all = { orders: 0, replies: 0, wrong: [] as string[] }
const dose = 100_000

const played = async (kind: Plays['kind'], count: number) => {
  const outcome = await outcomesOf(kind, count)
  all.orders += outcome.plays
  all.replies += outcome.replies
  all.wrong.push(...outcome.wrong)
  return outcome
}

afterAll(async () => {
  await Promise.all(players.map(({ close }) => close()))
  if (all.orders >= dose) keepDose('orders', all)
})

describe('workers, a person and crashes in any order', () => {
  test(
    'each message is answered once, and nobody calls the model for what another is answering',
    async () => {
      const { wrong, plays, replies } = await played('calm', runs(75))
      expect(wrong).toEqual([])
      expect(replies).toBeGreaterThan(plays)
    },
    hour,
  )

  test(
    'also where living workers are presumed dead',
    async () => {
      expect((await played('wronged', runs(75))).wrong).toEqual([])
    },
    hour,
  )

  test(
    'also where programs give turns to the same conversations',
    async () => {
      expect((await played('programs', runs(50))).wrong).toEqual([])
      expect((await played('programs-wronged', runs(25))).wrong).toEqual([])
    },
    hour,
  )

  test(
    'whatever happens right before whichever step',
    async () => {
      expect((await played('deeds', runs(150))).wrong).toEqual([])
    },
    hour,
  )
})

test('a seed gives the same order each time', async () => {
  expect((await outcomesOf('twice', runs(40), 1)).wrong).toEqual([])
})

describe('the judge finds, within a few orders, that there is', () => {
  test('no fence: replies land after what they have not seen', async () => {
    expect((await outcomesOf('fence', 200, 1)).wrong.join()).toMatch(/has not seen|answers no message/)
  })

  test('no claim: two call the model for one conversation', async () => {
    expect((await outcomesOf('claim', 200, 1)).wrong.join()).toMatch(/call the model for/)
  })
})
