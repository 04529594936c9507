import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import type { Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { promiseStore } from '../../src/api/promises.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore, StreamRange, RecordedEvent } from '../../src/store/port.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import { runs } from '../support/runs.ts'

const talk = (events: EventStore): Store => promiseStore(taskStore(storeOn(events, { kind: 'test' })))
type Page = readonly RecordedEvent[]

/** A conversation of 60 messages with a marker near the end and a fork, in a store whose pages are changed on their way. */
const damaged = async (change: (page: Page, range: StreamRange) => Page): Promise<Store> => {
  const whole = memoryStore()
  const chat = talk(whole).conversation('c')
  for (let n = 0; n < 60; n++)
    await chat.append({ role: n % 2 === 0 ? 'user' : 'assistant', content: `${n}` })
  await chat.truncate({ keepFirst: 10, keepLast: 30 })
  await (await chat.fork('f', { at: 50 })).append({ role: 'user', content: 'on' })
  const read: EventStore['read'] = (range) => async () => {
    const page = await whole.read(range)()
    return E.isLeft(page) ? page : E.right(change(page.right, range))
  }
  return talk({ ...whole, read })
}
const all = async (items: AsyncIterable<unknown>): Promise<readonly unknown[]> => {
  const list: unknown[] = []
  for await (const item of items) list.push(item)
  return list
}
const looks: Readonly<Record<string, (store: Store, id: string) => Promise<unknown>>> = {
  effective: (store, id) => store.conversation(id).effective(),
  'effective at 45': (store, id) => store.conversation(id).effective({ at: 45 }),
  full: (store, id) => store.conversation(id).full(),
  timeline: (store, id) => store.conversation(id).timeline(),
  events: (store, id) => all(store.conversation(id).events()),
  stored: (store, id) => all(store.conversation(id).stored()),
  verify: (store, id) => store.conversation(id).verify(),
  'a rewind': (store, id) => store.conversation(id).rewind({ turns: 40 }),
  'a list': (store) => all(store.conversations()),
}
const hides =
  (lost: number) =>
  (page: Page): Page =>
    page.filter(({ stream, revision }) => stream !== 'conversation-c' || revision !== lost)

describe('an index that hides an event', () => {
  test.each(
    Object.keys(looks).flatMap((name) =>
      name === 'a list' || name === 'verify'
        ? []
        : [
            [name, 'c'],
            [name, 'f'],
          ],
    ),
  )('is an error of %s of %s that names stream and revision', async (name, id) => {
    const store = await damaged(hides(35))
    await expect(looks[name]?.(store, id)).rejects.toMatchObject({
      _tag: 'DecodeFailed',
      stream: 'conversation-c',
      revision: 35,
    })
  })

  test('is found by verify, at the end too', async () => {
    expect(await (await damaged(hides(35))).conversation('c').verify()).toMatchObject({
      events: 35,
      discrepancy: { position: 35, kind: 'undecodable' },
    })
    const cut = await damaged((page, { direction }) => (direction === 'forwards' ? hides(60)(page) : page))
    expect(await cut.conversation('c').verify()).toMatchObject({ events: 60, discrepancy: { position: 60 } })
    await expect(all(cut.conversation('c').stored())).rejects.toMatchObject({ revision: 60 })
  })

  test('is told of the one conversation in the list, and no other', async () => {
    const found = await all((await damaged(hides(5))).conversations())
    expect(found).toMatchObject([{ id: 'f' }, { id: 'c', problem: expect.stringContaining('event 5') }])
  })
})

test('whatever a store answers to reads, every look at a conversation ends', async () => {
  const changes: Readonly<Record<string, (page: Page, picked: number) => Page>> = {
    nothing: () => [],
    'the other way round': (page) => page.toReversed(),
    'each twice': (page) => page.flatMap((event) => [event, event]),
    'the first one only, again and again': (page) =>
      page.slice(0, 1).flatMap((event) => [event, event, event]),
    holes: (page, picked) => page.filter(({ revision }) => revision % (2 + (picked % 5)) !== 1),
    'other places': (page, picked) =>
      page.map((event) => ({ ...event, revision: event.revision + (picked % 7) - 3 })),
    'of another stream': (page) => page.map((event) => ({ ...event, stream: 'conversation-f' })),
    'less than there is': (page, picked) => page.slice(0, picked % 3),
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(changes)),
      fc.constantFrom(...Object.keys(looks)),
      fc.constantFrom('c', 'f'),
      fc.nat(),
      async (change, look, id, picked) => {
        let reads = 0
        const store = await damaged((page) => {
          if (++reads > 5_000) throw new Error('it reads for ever')
          return reads % (1 + (picked % 3)) === 0 ? (changes[change]?.(page, picked) ?? page) : page
        })
        // It may succeed, and it may fail in a typed way.
        await looks[look]?.(store, id).catch((error: unknown) => expect(error).toHaveProperty('_tag'))
      },
    ),
    { numRuns: runs(400) },
  )
})

test('forks that stem from one another are an error, not a walk without end', async () => {
  const whole = memoryStore()
  const [a, b] = ['a', 'b'].map((id) => talk(whole).conversation(id))
  await a?.append({ role: 'user', content: 'one' })
  await a?.fork('b')
  await b?.fork('x')
  const forked = (await all(talk(whole).conversation('x').stored())).at(-1) as RecordedEvent
  const store = talk({
    ...whole,
    read: (range) => async () =>
      E.right([
        {
          ...forked,
          stream: range.stream,
          revision: 0,
          checkpoint: '0',
          data: forked.data.replace('"b"', range.stream === 'conversation-a' ? '"b"' : '"a"'),
        },
      ]),
  })
  expect((await all(store.conversations()))[0]).toMatchObject({
    problem: expect.stringContaining('one of its own forks'),
  })
  expect(await store.conversation('a').verify()).toMatchObject({ events: 0, discrepancy: { position: 0 } })
  for (const name of Object.keys(looks).filter((one) => one !== 'a list' && one !== 'verify'))
    await expect(looks[name]?.(store, 'a')).rejects.toMatchObject({ _tag: 'DecodeFailed', revision: 0 })
})
