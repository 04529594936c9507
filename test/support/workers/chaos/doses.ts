import type { Dose } from './faults.ts'
import type { Setting } from './scene.ts'
import type { Talk } from './talk.ts'

/** A scene as data. */
export interface Plan {
  readonly setting: Setting
  readonly talk: Talk
  readonly doses?: readonly Dose[]
}

const tools = ['hello', 'use none', 'use idempotent', 'use unsafe']
const anything = (n: number): string => tools[n % tools.length] ?? ''
const calls = (n: number): string => tools[1 + (n % 3)] ?? ''
const poisons = ['kill', 'hang', 'refuse', 'break']
/** One conversation of so many is poison, of each kind in turn. */
const poisonOneOf = (many: number) => (n: number) =>
  n % many === 0 ? `poison ${poisons[(n / many) % poisons.length] ?? ''}` : 'hello'

/** No worker is so slow, on however busy a machine, that it is presumed dead. */
const calm = { ttl: 10_000 }
/** As far as that can be where workers are silent for up to three times as long. */
const quick = { ttl: 3_000 }

/**
 * What others lose by poison are slots, so it is slots that there are too few of: a model as quick as in the other scenes would leave too little
 * of the processors, and the scenes would measure how long Node takes to load.
 */
const beside = { ...calm, slow: 4_000, stall: 1_500, standby: true } as const

/** What every run of the tests does: small, so that it costs seconds. */
const short = (seed: number) =>
  ({
    // Takes longest: its attempts wait for each other.
    'C7 EventStoreDB': {
      setting: { on: 'EventStoreDB', workers: 2, slots: 6, standby: true, stall: 4_000, ...calm, seed },
      talk: { conversations: 12, rounds: 1, say: poisonOneOf(3) },
      doses: [{ fault: 'restart', times: 1, every: [2_000, 5_000] }],
    },
    'C1 SQLite': {
      setting: { on: 'SQLite', workers: 3, slots: 4, reported: 0.5, ...calm, seed },
      talk: { conversations: 8, rounds: 2, taken: 0.05, say: anything },
      doses: [{ fault: 'kill', times: 2, every: [200, 600] }],
    },
    'C1 EventStoreDB': {
      setting: { on: 'EventStoreDB', workers: 3, slots: 4, reported: 0.5, ...calm, seed },
      talk: { conversations: 8, rounds: 2, taken: 0.05, say: anything },
      doses: [{ fault: 'kill', times: 2, every: [200, 600] }],
    },
    'C1 PostgreSQL': {
      setting: { on: 'PostgreSQL', workers: 3, slots: 4, reported: 0, ...calm, seed },
      talk: { conversations: 8, rounds: 2, taken: 0.05, say: anything },
      doses: [{ fault: 'kill', times: 2, every: [200, 600] }],
    },
    'C2 SQLite': {
      setting: { on: 'SQLite', workers: 3, slots: 4, slow: 300, ...quick, seed },
      talk: { conversations: 6, rounds: 2, say: anything },
      doses: [{ fault: 'freeze', times: 3, every: [100, 300], lanes: 2 }],
    },
    'C3 SQLite': {
      setting: { on: 'SQLite', workers: 2, slots: 4, ...calm, seed },
      talk: { conversations: 6, rounds: 2 },
      doses: [{ fault: 'holdLock', times: 2, every: [300, 900] }],
    },
    'C3 EventStoreDB': {
      setting: { on: 'EventStoreDB', workers: 2, slots: 4, slow: 500, seed },
      talk: { conversations: 6, rounds: 2 },
      doses: [{ fault: 'restart', times: 2, every: [1_000, 2_000] }],
    },
    'C4 EventStoreDB': {
      setting: { on: 'EventStoreDB', workers: 2, slots: 4, slow: 300, ...quick, seed },
      talk: { conversations: 6, rounds: 2, say: anything },
      doses: (['cut', 'halfOpen', 'loseAnswers', 'slow'] as const).map((fault) => {
        return { fault, times: 1, every: [100, 900] as const }
      }),
    },
    'C5 SQLite': {
      setting: { on: 'SQLite', workers: 2, slots: 4, slow: 1_000, reported: 0, hours: 1, ...calm, seed },
      talk: { conversations: 6, rounds: 2 },
      doses: [{ fault: 'kill', times: 2, every: [300, 900] }],
    },
    'C8 SQLite': {
      setting: { on: 'SQLite', workers: 2, slots: 4, deadly: 0.3, ...calm, seed },
      talk: { conversations: 8, rounds: 3, say: calls },
    },
    'C9 SQLite': {
      // Nobody dies, so no claim may expire and no turn be ended, however slow the machine is.
      setting: { on: 'SQLite', workers: 2, slots: 4, slow: 200, ttl: 120_000, grace: 120_000, seed },
      talk: { conversations: 8, rounds: 2, say: anything },
      doses: [{ fault: 'replace', times: 2, every: [100, 300] }],
    },
    'C10 SQLite': {
      // Of the calls that come before the small tenant's, few begin while a busy worker has not heard of it.
      setting: { on: 'SQLite', workers: 2, slots: 4, slow: 2_000, ...calm, seed },
      talk: { conversations: 80, rounds: 1, tenant: 'big' },
    },
    'C11 SQLite': {
      // As many as a worker reads before it settles what it knows.
      setting: { on: 'SQLite', workers: 2, slots: 4, ...calm, before: { old: 10_000, open: 8 }, seed },
      talk: { conversations: 6, rounds: 2 },
      doses: [{ fault: 'kill', times: 1, every: [300, 900] }],
    },
  }) as const satisfies Readonly<Record<string, Plan>>

export type SceneName = keyof ReturnType<typeof short>

/** The doses of the study, or what of them two cores carry out in half an hour; and how it is without poison. */
const full = (seed: number): Readonly<Record<SceneName | 'C7 without poison', Plan>> => ({
  'C1 SQLite': {
    setting: { on: 'SQLite', workers: 8, slots: 8, reported: 0.5, seed },
    talk: { conversations: 1_000, rounds: 14, taken: 0.05, say: anything },
    doses: [{ fault: 'kill', times: 130, every: [300, 2_000] }],
  },
  'C1 EventStoreDB': {
    setting: { on: 'EventStoreDB', workers: 8, slots: 8, reported: 0.5, seed },
    talk: { conversations: 500, rounds: 14, taken: 0.05, say: anything },
    doses: [{ fault: 'kill', times: 70, every: [300, 2_000] }],
  },
  'C1 PostgreSQL': {
    setting: { on: 'PostgreSQL', workers: 8, slots: 8, reported: 0, seed },
    talk: { conversations: 500, rounds: 14, taken: 0.05, say: anything },
    doses: [{ fault: 'kill', times: 70, every: [300, 2_000] }],
  },
  'C2 SQLite': {
    setting: { on: 'SQLite', workers: 6, slots: 8, seed },
    talk: { conversations: 60, rounds: 10, say: anything },
    doses: [{ fault: 'freeze', times: 100, every: [100, 300], lanes: 3 }],
  },
  'C3 SQLite': {
    setting: { on: 'SQLite', workers: 4, slots: 8, seed },
    talk: { conversations: 40, rounds: 10 },
    doses: [{ fault: 'holdLock', times: 20, every: [1_000, 2_000] }],
  },
  'C3 EventStoreDB': {
    setting: { on: 'EventStoreDB', workers: 4, slots: 8, slow: 500, seed },
    talk: { conversations: 40, rounds: 10 },
    doses: [{ fault: 'restart', times: 20, every: [1_500, 3_000] }],
  },
  'C4 EventStoreDB': {
    setting: { on: 'EventStoreDB', workers: 6, slots: 8, seed },
    talk: { conversations: 60, rounds: 10, say: anything },
    doses: (['cut', 'halfOpen', 'loseAnswers', 'slow'] as const).map((fault) => {
      return { fault, times: 25, every: [100, 900] as const }
    }),
  },
  'C5 SQLite': {
    setting: { on: 'SQLite', workers: 4, slots: 8, reported: 0, hours: 1, seed },
    talk: { conversations: 40, rounds: 10 },
    doses: [{ fault: 'kill', times: 20, every: [500, 1_500] }],
  },
  'C7 without poison': {
    setting: { on: 'EventStoreDB', workers: 4, slots: 8, ...beside, seed },
    talk: { conversations: 1_000, rounds: 1 },
    doses: [{ fault: 'restart', times: 1, every: [5_000, 9_000] }],
  },
  'C7 EventStoreDB': {
    setting: { on: 'EventStoreDB', workers: 4, slots: 8, ...beside, seed },
    talk: { conversations: 1_000, rounds: 1, say: poisonOneOf(100) },
    doses: [{ fault: 'restart', times: 1, every: [5_000, 9_000] }],
  },
  'C8 SQLite': {
    setting: { on: 'SQLite', workers: 6, slots: 8, deadly: 0.2, ...calm, seed },
    talk: { conversations: 100, rounds: 30, say: calls },
  },
  'C9 SQLite': {
    setting: { on: 'SQLite', workers: 4, slots: 8, slow: 200, ...calm, seed },
    talk: { conversations: 60, rounds: 10, say: anything },
    doses: [{ fault: 'replace', times: 50, every: [100, 500] }],
  },
  'C10 SQLite': {
    setting: { on: 'SQLite', workers: 2, slots: 8, slow: 500, ...calm, seed },
    talk: { conversations: 1_000, rounds: 1, tenant: 'big' },
  },
  'C11 SQLite': {
    setting: { on: 'SQLite', workers: 2, slots: 8, ...calm, before: { old: 100_000, open: 50 }, seed },
    talk: { conversations: 16, rounds: 3 },
    doses: [{ fault: 'kill', times: 5, every: [1_000, 2_000] }],
  },
})

export const plans = (isFull: boolean, seed: number): Readonly<Record<SceneName, Plan>> =>
  isFull ? full(seed) : short(seed)
