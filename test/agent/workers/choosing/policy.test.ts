import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tenantStatusOf } from '../../../../src/agent/workers/choosing/tenant-status.ts'
import type { WorkPolicy } from '../../../../src/agent/workers/choosing/policy.ts'
import { runs } from '../../../support/runs.ts'
import { noon, type Story, story } from '../../../support/workers/story.ts'

/** Why nobody takes the step of a conversation. */
const heldIn = ({ known, now }: Story, conversation: string): string | undefined => {
  const step = known.steps.get(conversation)
  return step && tenantStatusOf(known, noon + now()).held(conversation, step)?.why
}

/** What a reply of a model that costs 4 dollars a million input tokens says. */
const reply = (usd: number, model = 'claude-opus-5-5') => ({
  model,
  usage: { input_tokens: (usd / 4) * 1_000_000 },
})

describe('the limit of a tenant', () => {
  const policy = { tenants: { acme: { limit: 2 } } }

  test('holds back its steps while so many are in progress, and nobody else', () => {
    const told = story({ policy })
    const { ask, claim, reply: answer, picked } = told
    for (const id of ['a', 'b', 'c']) ask(id, { tenant: 'acme' })
    claim('a', 'other')
    expect(picked()).toBe('b')
    claim('b', 'other')
    expect(picked()).toBeUndefined()
    expect(heldIn(told, 'c')).toBe('limit')
    ask('d', { tenant: 'small' })
    expect(picked()).toBe('d')
    claim('d', 'other')
    answer('a')
    expect(picked()).toBe('c')
  })

  test('counts the steps that the worker is taking, before anybody has received its claims', () => {
    const { ask, picked } = story({ policy })
    for (const id of ['a', 'b', 'c']) ask(id, { tenant: 'acme' })
    expect(picked('me', new Set(['a']))).toBe('b')
    expect(picked('me', new Set(['a', 'b']))).toBeUndefined()
  })

  test('does not keep anybody from taking over the step of a dead worker', () => {
    const { ask, claim, pass, picked } = story({ policy: { default: { limit: 1 } } })
    ask('a', { tenant: 'acme' })
    claim('a', 'other')
    ask('b', { tenant: 'acme' })
    expect(picked()).toBeUndefined()
    pass(10_000)
    expect(picked()).toBe('a')
  })

  test('holds for requests that name no tenant together, by `default` or by the empty name', () => {
    for (const own of [{ default: { limit: 1 } }, { tenants: { '': { limit: 1 } } }]) {
      const { ask, claim, picked } = story({ policy: own })
      ask('a')
      ask('b')
      claim('a', 'other')
      expect(picked()).toBeUndefined()
    }
  })
})

describe('the budget of a tenant', () => {
  const policy: WorkPolicy = { tenants: { acme: { budget: { usd: 2, per: 'hour' } } } }

  test('holds back its steps once replies have spent it, until the next hour begins', () => {
    const told = story({ policy })
    const { ask, claim, reply: answer, pass, picked, look, now } = told
    ask('a', { tenant: 'acme' })
    claim('a', 'other')
    answer('a', reply(1.5))
    ask('a', { tenant: 'acme' })
    expect(picked()).toBe('a')
    claim('a', 'other')
    answer('a', reply(0.5))
    pass(60_000)
    ask('a', { tenant: 'acme' })
    expect(heldIn(told, 'a')).toBe('budget')
    expect(look()).toMatchObject({ lookAt: 3_600_000 })
    ask('b', { tenant: 'small' })
    expect(picked()).toBe('b')
    claim('b', 'other')
    pass(3_600_000 - now())
    expect(picked()).toBe('a')
  })

  test('counts tokens, calls that failed, and summaries as the budget of a turn does', () => {
    for (const budget of [{ tokens: 100 }, { calls: 2 }]) {
      const {
        ask,
        reply: answer,
        picked,
      } = story({ policy: { default: { budget: { ...budget, per: 'day' } } } })
      ask('a')
      answer('a', {
        usage: { input_tokens: 40 },
        failed: [{ error: 'ModelFailed', usage: { output_tokens: 60 } }],
      })
      ask('a')
      expect(picked()).toBeUndefined()
    }
  })

  test('in dollars is spent by a reply whose price nobody knows; a price of the policy helps', () => {
    const rates = { input: 1, output: 1, cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 }
    for (const [prices, expected] of [
      [{}, undefined],
      [{ own: rates }, 'a'],
    ] as const) {
      const { ask, reply: answer, picked } = story({ policy: { ...policy, prices } })
      ask('a', { tenant: 'acme' })
      answer('a', reply(0.1, 'own'))
      ask('a', { tenant: 'acme' })
      expect(picked()).toBe(expected)
    }
  })

  test('is not touched by what nobody has asked workers to answer', () => {
    const {
      ask,
      reply: answer,
      picked,
    } = story({ policy: { default: { budget: { usd: 1, per: 'month' } } } })
    answer('a', reply(5))
    ask('a')
    expect(picked()).toBe('a')
  })

  test('of a month ends with it, also in December', () => {
    for (const [days, expected] of [
      [0, '2026-02-01T00:00:00.000Z'],
      [334, '2027-01-01T00:00:00.000Z'],
    ] as const) {
      const {
        ask,
        reply: answer,
        pass,
        look,
      } = story({ policy: { default: { budget: { usd: 1, per: 'month' } } } })
      pass(days * 24 * 3_600_000)
      ask('a')
      answer('a', reply(5))
      ask('a')
      expect(new Date(noon + look().lookAt).toISOString()).toBe(expected)
    }
  })
})

describe('fair shares', () => {
  test('a worker with several free slots gives them to several tenants', () => {
    const { ask, pass, picked } = story()
    for (const id of ['a', 'b', 'c']) ask(id, { tenant: 'big' })
    pass(1)
    ask('d', { tenant: 'small' })
    expect(picked('me', new Set(['a']))).toBe('d')
  })

  test('with one slot, tenants take turns, whoever has asked first', () => {
    const { ask, claim, reply: answer, picked } = story()
    for (const id of ['a1', 'a2', 'a3', 'b1', 'b2']) ask(id, { tenant: id.slice(0, 1) })
    const order: string[] = []
    for (let next = picked(); next !== undefined; next = picked()) {
      order.push(next)
      claim(next, 'me')
      answer(next)
    }
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  })

  test('who was away has saved nothing up', () => {
    const { ask, claim, reply: answer, picked } = story()
    const serve = (): string => {
      const next = picked() ?? ''
      claim(next, 'me')
      answer(next)
      return next.slice(0, 1)
    }
    for (let n = 0; n < 10; n++) ask(`a${n}`, { tenant: 'a' })
    for (let n = 0; n < 5; n++) serve()
    for (let n = 0; n < 5; n++) ask(`b${n}`, { tenant: 'b' })
    expect(Array.from({ length: 4 }, serve).toSorted()).toEqual(['a', 'a', 'b', 'b'])
  })
})

/** What a tenant asks for at the beginning. */
interface Asked {
  readonly tenant: string
  readonly steps: number
  readonly priority?: number
}

interface Started {
  readonly tenant: string
  /** Its steps in progress then, this one included. */
  readonly working: number
  /** The tenants that had a step in progress before. */
  readonly others: ReadonlySet<string>
}

const ofTenant = (conversation: string): string => conversation.replace(/\d+$/, '')

/** Workers with so many slots each do what is asked for, each step in `ms`; they look one after the other, in an order that `dice` decides. */
const play = (
  asked: readonly Asked[],
  {
    policy,
    workers,
    slots,
    dice = () => 0,
    ms = () => 1_000,
  }: {
    readonly policy?: WorkPolicy
    readonly workers: number
    readonly slots: number
    readonly dice?: () => number
    readonly ms?: () => number
  },
): readonly Started[] => {
  const { ask, claim, reply: answer, beat, pass, picked, now } = story({ slots, ...(policy && { policy }) })
  const names = Array.from({ length: workers }, (_, n) => `w${n}`)
  for (const name of names) beat(name)
  for (const { tenant, steps, priority = 0 } of asked)
    for (let n = 0; n < steps; n++) ask(`${tenant}${n}`, { tenant, priority })
  // Nobody waits for anybody any more.
  pass(1_000)
  const started: Started[] = []
  const running = new Map<string, { readonly worker: string; readonly ends: number }>()
  const begin = (worker: string): boolean => {
    const own = [...running].flatMap(([id, its]) => (its.worker === worker ? [id] : []))
    const next = own.length < slots ? picked(worker, new Set(own)) : undefined
    if (next === undefined) return false
    claim(next, worker)
    const tenant = ofTenant(next)
    const busy = [...running.keys()].map(ofTenant)
    started.push({
      tenant,
      working: busy.filter((other) => other === tenant).length + 1,
      others: new Set(busy),
    })
    running.set(next, { worker, ends: now() + ms() })
    return true
  }
  for (;;) {
    for (let idle = new Set<string>(); idle.size < names.length;) {
      const worker = names[Math.floor(dice() * names.length) % names.length] ?? ''
      const next = [worker, ...names].find((name) => !idle.has(name)) ?? ''
      if (!begin(next)) idle = idle.add(next)
    }
    const [first] = [...running].toSorted(([, one], [, other]) => one.ends - other.ends)
    if (!first) return started
    pass(first[1].ends - now())
    running.delete(first[0])
    answer(first[0])
    for (const name of names) beat(name)
  }
}

const parameters = { numRuns: runs(25) }

describe('whatever tenants ask for, and however many workers there are', () => {
  test('a tenant that opens one step beside a thousand of another begins with the next slot that is free', () => {
    const story1000 = play(
      [
        { tenant: 'big', steps: 1_000 },
        { tenant: 'one', steps: 1 },
      ],
      { workers: 2, slots: 8 },
    )
    // All slots are free at first: it is among the first two.
    expect(story1000.findIndex(({ tenant }) => tenant === 'one')).toBe(1)
  })

  test('limits are kept, and every step begins', () => {
    const tenants = fc.array(
      fc.record({ steps: fc.integer({ min: 1, max: 12 }), limit: fc.integer({ min: 1, max: 5 }) }),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    fc.assert(
      fc.property(
        tenants,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 4 }),
        (all, workers, slots) => {
          const named = all.map((each, n) => ({ ...each, tenant: `t${'abcd'[n]}` }))
          const policy = {
            tenants: Object.fromEntries(named.map(({ tenant, limit }) => [tenant, { limit }])),
          }
          const started = play(named, { policy, workers, slots })
          for (const { tenant, limit, steps } of named) {
            const own = started.filter((each) => each.tenant === tenant)
            expect(own).toHaveLength(steps)
            expect(Math.max(...own.map(({ working }) => working))).toBeLessThanOrEqual(limit)
          }
        },
      ),
      parameters,
    )
  })

  test('nobody gets a second slot while a tenant of the same class has none', () => {
    const tenants = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 4 })
    const spread = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }))
    fc.assert(
      fc.property(
        tenants,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 4 }),
        spread,
        (all, workers, slots, random) => {
          const dice = (): number => Number(random.next().value)
          const asked = all.map((steps, n) => ({ tenant: `t${'abcd'[n]}`, steps }))
          const began = play(asked, { workers, slots, dice, ms: () => 100 + Math.floor(dice() * 1_000) })
          const left = new Map(asked.map(({ tenant, steps }) => [tenant, steps]))
          for (const { tenant, working, others } of began) {
            const starved = [...left].filter(
              ([other, open]) => other !== tenant && open > 0 && !others.has(other),
            )
            if (working > 1) expect(starved).toEqual([])
            left.set(tenant, (left.get(tenant) ?? 0) - 1)
          }
        },
      ),
      parameters,
    )
  })

  test('tenants that always have something to do share the slots by weight, or with one slot the claims', () => {
    const weighted = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(weighted, fc.integer({ min: 0, max: 2 }), (weights, times) => {
        const named = weights.map((weight, n) => ({ tenant: `t${'abcd'[n]}`, weight }))
        const sum = weights.reduce((one, other) => one + other, 0)
        const asked = named.map(({ tenant, weight }) => ({ tenant, steps: weight * 20 }))
        const policy = {
          tenants: Object.fromEntries(named.map(({ tenant, weight }) => [tenant, { weight }])),
        }
        const began = play(asked, { policy, workers: 1, slots: Math.max(1, sum * times) }).slice(0, sum * 10)
        for (const { tenant, weight } of named) {
          const share = began.filter((each) => each.tenant === tenant).length / began.length
          expect(Math.abs(share - weight / sum)).toBeLessThan(0.05)
        }
      }),
      parameters,
    )
  })
})

describe('classes', () => {
  test('a batch step begins within its class in minutes and one turn, whatever others ask for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), (priority) => {
        const { ask, claim, reply: answer, pass, picked, now } = story()
        ask('batch', { priority, tenant: 'batch' })
        for (let n = 0; ; n++) {
          ask(`person${n}`, { tenant: 'person' })
          ask(`urgent${n}`, { tenant: 'urgent' })
          const next = picked() ?? ''
          if (next === 'batch') break
          claim(next, 'me')
          pass(5_000)
          answer(next)
        }
        expect(now()).toBeGreaterThanOrEqual((priority - 1) * 60_000)
        expect(now()).toBeLessThanOrEqual(priority * 60_000 + 5_000)
      }),
      parameters,
    )
  })
})
