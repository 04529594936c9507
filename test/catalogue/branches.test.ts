import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { catalogueOf as impatient } from '../../src/catalogue/catalogue.ts'
import { path } from '../../src/projections/path.ts'
import { openStore } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

const places = fc.array(fc.nat(200), { maxLength: 3 })

describe.each([
  ['logs that commands wrote', histories(60), 60],
  ['logs of any events', rawLogs(60), 100],
])('of %s, whole or forked,', (_, logs, numRuns) => {
  test('what is abandoned by a position is what is not on its path, each stretch by the rewind after it', async () => {
    await fc.assert(
      fc.asyncProperty(logs, places, fc.option(fc.nat(200)), async (any, cuts, place) => {
        if (any.length === 0) return
        const { store, id, log: whole } = await storedForked(any, cuts)
        const at = place === null ? undefined : place % whole.length
        const log = whole.slice(0, at === undefined ? undefined : at + 1)
        const catalogue = catalogueOf(store, undefined)
        const asked = async () => right(await catalogue.branches(id, { at })())
        let found = await asked()
        // An answer waits for the index for a moment only.
        while (!found.isAll) found = await asked()
        const { abandoned, last, indexed } = found
        expect([last, indexed]).toEqual([whole.length - 1, log.length - 1])
        const left = abandoned.flatMap(({ first, last: end, by }) => {
          expect(log[by]).toMatchObject({ type: 'Rewound', data: { to: first - 1 } })
          expect(end).toBe(by - 1)
          return Array.from({ length: by - first + 1 }, (__, index) => first + index)
        })
        const all = log.map(({ position }) => position)
        expect([...path(log), ...left].toSorted((one, other) => one - other)).toEqual(all)
        expect(abandoned.map(({ by }) => by)).toEqual(
          abandoned.map(({ by }) => by).toSorted((one, other) => other - one),
        )
        await catalogue.close()
      }),
      { numRuns: runs(numRuns) },
    )
  })
})

test('of more than a hundred branches, the newest are given', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('a')
  await chat.append({ role: 'user', content: 'Begin.' })
  for (let turn = 0; turn < 101; turn++) {
    await chat.append({ role: 'assistant', content: `Try ${turn}.` })
    await chat.rewind({ to: 0 })
  }
  const indexed = () => store.catalogue.branches('a')
  await expect.poll(indexed).toMatchObject({ abandoned: [{}], forks: [], isAll: true })
  for (let turn = 0; turn < 101; turn++) await chat.fork(`fork-${turn}`, { at: 0 })
  await expect.poll(async () => (await indexed()).forks[0]).toEqual({ id: 'fork-100', at: 0 })
  const many = await indexed()
  expect([many.forks.length, many.isAll]).toEqual([100, false])
  await chat.fork('late')
  await expect.poll(async () => (await indexed()).forks[0]?.id).toBe('late')
  expect(await store.catalogue.branches('a', { at: 0 })).toMatchObject({ abandoned: [], forks: many.forks })
  await expect(store.catalogue.branches('a', { at: 999 })).rejects.toMatchObject({ _tag: 'OutOfRange' })
})

test('while forks may not be indexed yet, these are not all', async () => {
  const store = memoryStore()
  await write(store, 'a', [user('Begin.')])
  let isHeld = false
  const held = Promise.withResolvers<void>()
  const catalogue = impatient(
    {
      ...store,
      readAll: (range) => async () => {
        if (isHeld) await held.promise
        return store.readAll(range)()
      },
    },
    undefined,
  )
  atEnd(catalogue.close)
  const whole = { forks: [], isAll: true, indexed: 0, last: 0 }
  expect(right(await catalogue.branches('a')())).toMatchObject(whole)
  isHeld = true
  const behind = right(await catalogue.branches('a')())
  isHeld = false
  held.resolve()
  expect(behind).toMatchObject({ ...whole, isAll: false })
  expect(right(await catalogue.branches('a')())).toMatchObject(whole)
})

test('each rewind that was followed by something is a branch of its own', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('a')
  await chat.append({ role: 'user', content: 'Begin.' })
  for (let turn = 0; turn < 101; turn++) {
    const { position } = await chat.append({ role: 'user', content: 'More.' })
    await chat.append({ role: 'assistant', content: `Try ${turn}.` })
    await chat.rewind({ to: position })
  }
  const { abandoned, isAll, last } = await store.catalogue.branches('a')
  expect([abandoned.length, isAll]).toEqual([100, false])
  expect(abandoned[0]).toEqual({ first: last - 1, last: last - 1, by: last })
  const fork = await chat.fork('f', { at: last - 3 })
  await fork.append({ role: 'user', content: 'Other.' })
  const inherited = await store.catalogue.branches('f')
  expect(inherited.abandoned[0]?.by).toBe(last - 3)
  expect([inherited.abandoned.length, inherited.isAll]).toEqual([100, true])
})
