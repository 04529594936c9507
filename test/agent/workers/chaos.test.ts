import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtWorker } from '../../support/bundle.ts'
import { noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { type Plan, plans, type SceneName } from '../../support/workers/chaos/doses.ts'
import type { Figures } from '../../support/workers/chaos/figures.ts'
import { keepDose } from '../../support/workers/chaos/kept.ts'
import { overtaking } from '../../support/workers/chaos/overtaking.ts'
import { played } from '../../support/workers/chaos/run.ts'
import { progressOf, sumOf, table } from '../../support/workers/chaos/table.ts'
import { isPoison } from '../../support/workers/chaos/talk.ts'

// Real worker processes, a model and tools outside them, and everything that goes wrong: the plans are in support/workers/chaos/doses.ts.
// PALIMPSEST_CHAOS=full (npm run test:chaos) takes the doses of the study, one scene after the other, and prints a table.

const isFull = process.env['PALIMPSEST_CHAOS'] === 'full'
const all = plans(isFull, Number(process.env['PALIMPSEST_SEED'] ?? 0))
const minute = 60_000
/** After so long a scene that comes to nothing fails, and says what it waits for. */
const limits = isFull ? { quiet: minute, whole: 10 * minute } : { quiet: 3 * minute, whole: 20 * minute }
/** A test waits for the scenes before its own, too. */
const timeout = 40 * minute

/** Scenes on PostgreSQL need a server. */
const isPossible = ([, { setting }]: readonly [string, Plan]): boolean =>
  setting.on !== 'PostgreSQL' || noPostgres === undefined

const results = new Map<string, Promise<Figures>>()
const smalls = overtaking(isFull ? 20 : 2)

/** Several scenes at once: most of their time is waiting. In full doses they are not to disturb each other. */
beforeAll(async () => {
  // Many processes: each loads a few files in place of all the sources.
  const program = join(await builtWorker(), 'worker.js')
  const waiting = Object.entries<Plan>(all)
    .filter(isPossible)
    .map(([name, plan]) => {
      const { promise, resolve, reject } = Promise.withResolvers<Figures>()
      results.set(name, promise)
      promise.catch(() => {})
      const more = name.startsWith('C10') ? smalls.more : undefined
      return async (): Promise<void> => {
        const [outcome] = await Promise.allSettled([played(plan, { program, limits, more })])
        if (isFull) process.stdout.write(progressOf(name, outcome))
        if (outcome.status === 'fulfilled') resolve(outcome.value)
        else reject(outcome.reason as Error)
      }
    })
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await next()
  }
  for (let lanes = isFull ? 1 : 3; lanes > 0; lanes--) void lane()
})
afterAll(async () => {
  if (isFull) {
    process.stdout.write(await table(results))
    keepDose('scenes', await sumOf(results))
  }
})

/** What came of a scene, in which nothing is wrong with the log, with effects, and nothing is left open. */
const came = async (name: SceneName): Promise<Figures> => {
  const figures = (await results.get(name)) as Figures
  expect(figures.wrong).toEqual([])
  expect(figures.open).toEqual([])
  expect(figures.untold).toEqual([])
  return figures
}

describe('each request is answered once, whatever happens to the workers', () => {
  test.each(['C1 SQLite', 'C1 EventStoreDB'] as const)(
    '%s: they are killed, and half of their deaths are reported',
    async (name) => {
      expect((await came(name)).parked).toBe(0)
    },
    timeout,
  )

  test.skipIf(noPostgres !== undefined)(
    `C1 PostgreSQL: they are killed, and the database tells of their deaths${whySkipped}`,
    async () => {
      expect((await came('C1 PostgreSQL')).parked).toBe(0)
    },
    timeout,
  )

  test(
    'C2 SQLite: they are frozen; each takeover costs one call of the model at most',
    async () => {
      const { wasted, takenOver, parked } = await came('C2 SQLite')
      expect(wasted).toBeLessThanOrEqual(takenOver)
      expect(parked).toBe(0)
    },
    timeout,
  )

  test(
    'C3 SQLite: somebody dies in a transaction',
    async () => {
      expect((await came('C3 SQLite')).parked).toBe(0)
    },
    timeout,
  )

  test(
    'C3 EventStoreDB: the server dies and returns; nothing is taken over until a TTL later',
    async () => {
      expect((await came('C3 EventStoreDB')).tooSoon).toEqual([])
    },
    timeout,
  )

  test(
    'C4 EventStoreDB: the network of a worker is cut, silent, deaf or slow',
    async () => {
      expect((await came('C4 EventStoreDB')).parked).toBe(0)
    },
    timeout,
  )

  test(
    'C5 SQLite: their wall clocks jump by up to an hour',
    async () => {
      const { takeovers, parked, failures } = await came('C5 SQLite')
      expect(takeovers.length).toBeGreaterThan(0)
      expect(failures).toEqual([])
      expect(parked).toBe(0)
    },
    timeout,
  )
})

test(
  'C7: what kills its worker, hangs or breaks the API is parked after five attempts, what is refused at once, the rest is answered, across a restart of the server',
  async () => {
    const { parked, attemptsParked, overlaps } = await came('C7 EventStoreDB')
    const { conversations, say } = all['C7 EventStoreDB'].talk
    const poisonous = Array.from({ length: conversations }, (_, n) => say?.(n)).filter(
      (one) => one !== undefined && isPoison(one),
    )
    expect(parked).toBe(poisonous.length)
    // What is refused at once may have died with its worker before.
    const refused = poisonous.filter((one) => one?.includes('refuse'))
    expect(attemptsParked.filter((attempts) => attempts < 5).length).toBeLessThanOrEqual(refused.length)
    expect(Math.max(...attemptsParked)).toBe(5)
    expect(overlaps).toEqual([])
  },
  timeout,
)

test(
  'C8: tools whose process dies before, in and after an effect take effect once, or with one key, and the model is told',
  async () => {
    const { overlaps, parked } = await came('C8 SQLite')
    expect(overlaps).toEqual([])
    expect(parked).toBe(0)
  },
  timeout,
)

test(
  'C9: workers that are replaced one by one under load give up nothing',
  async () => {
    const { claims, wasted, overlaps, unsaid, failures, events } = await came('C9 SQLite')
    expect(failures).toEqual([])
    expect(unsaid).toEqual([])
    const again = claims.filter(({ attempt }) => attempt > 1)
    // With all that was recorded of such a conversation and its workers, in order.
    const workers = new Set(
      claims.filter(({ chat }) => again.some((one) => one.chat === chat)).map((claim) => claim.worker),
    )
    const trail = events.filter(
      ({ stream }) =>
        again.some(({ chat }) => stream.endsWith(chat)) || workers.has(stream.slice('worker-'.length)),
    )
    expect(
      trail.map(({ stream, revision, type, data }) => `${stream}@${revision} ${type} ${data.slice(0, 300)}`),
    ).toEqual([])
    expect(again).toEqual([])
    expect(wasted).toBe(0)
    expect(overlaps).toEqual([])
  },
  timeout,
)

test(
  'C10: a tenant with one step does not wait for another with many',
  async () => {
    const { slots, workers } = all['C10 SQLite'].setting
    const { overlaps } = await came('C10 SQLite')
    expect(overlaps).toEqual([])
    expect(Math.max(...smalls.overtaken)).toBeLessThanOrEqual(2 * slots * workers)
  },
  timeout,
)

test(
  'C11: on a store of many old conversations, a worker begins with what others have settled, and reads nothing twice',
  async () => {
    const { toRead, events } = await came('C11 SQLite')
    expect(events.length).toBeGreaterThan(10_000)
    expect(toRead).toBeLessThan(events.length / 4)
  },
  timeout,
)
