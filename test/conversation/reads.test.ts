import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import type { ConversationHandle } from '../../src/conversation/conversation.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { handler } from '../../src/conversation/writing/handle.ts'
import { loadLog, openAt } from '../../src/conversation/reading/log.ts'
import type { Log } from '../../src/projections/path.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { counting } from '../support/counting.ts'
import { right } from '../support/either.ts'
import { apply, steps } from '../support/histories.ts'
import { condensed, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'

const actor = { kind: 'test' }
const said = (content: string) => ({ role: 'user', content }) as const

/** A conversation with a summary and a truncation, and messages after each. */
const begin = async (): Promise<EventStore> => {
  const store = memoryStore()
  const chat = storeOn(store, actor).conversation('c')
  for (let n = 0; n < 20; n++) right(await chat.append(said(`${n}`))())
  right(await chat.condense({ summary: 'S.', keepLast: 6 })())
  for (let n = 0; n < 10; n++) right(await chat.append(said(`${n}`))())
  right(await chat.truncate({ keepLast: 8 })())
  right(await chat.append(said('Go on.'))())
  return store
}

type Run = (chat: ConversationHandle) => () => Promise<E.Either<unknown, unknown>>
const append: Run = (chat) => chat.append(said('more'))
const condense: Run = (chat) => chat.condense({ summary: 'T.', keepLast: 4 })
const undo: Run = (chat) => chat.undo()
/** The marker that `condense` writes right after what there is in the beginning. */
const newest = 33

describe('what a command asks of the store', () => {
  // A command, what this process did before, and how often the store is asked: by a process that did nothing yet, and by this one.
  test.each<readonly [string, Run, readonly Run[], number, number]>([
    ['append', append, [append], 2, 0],
    ['append after a position', (chat) => chat.append(said('x'), { after: newest }), [append], 2, 0],
    ['append of a repeatable command', (c) => c.append(said('x'), { commandId: 'k' }), [append], 3, 1],
    ['append with an edit', (c) => c.append({ ...said('x'), shown: { content: 'y' } }), [condense], 3, 0],
    ['configure', (chat) => chat.configure({ model: 'm' }), [condense], 3, 0],
    ['condense', condense, [condense, append, append], 3, 1],
    ['condense, the first of this process', condense, [append], 3, 2],
    ['condense after an undo', condense, [condense, undo], 3, 0],
    ['truncate', (chat) => chat.truncate({ keepLast: 2 }), [condense], 3, 0],
    ['restore', (chat) => chat.restore({ marker: newest }), [condense], 2, 0],
    ['restore after more', (chat) => chat.restore({ marker: newest }), [condense, append], 2, 1],
    ['undo', undo, [condense], 2, 0],
    ['undo of an undo', undo, [condense, undo], 2, 0],
    ['rewind to a position', (chat) => chat.rewind({ to: 20 }), [append], 2, 1],
    ['rewind to before a message', (chat) => chat.rewind({ before: 30 }), [append], 2, 2],
    ['rewind by turns', (chat) => chat.rewind({ turns: 1 }), [append], 2, 1],
    // Before a store begins its first conversation, it looks once whether the content is sealed.
    ['fork', (chat) => chat.fork('d'), [append], 3, 2],
    ['fork at a position', (chat) => chat.fork('d', { at: 3 }), [append], 4, 2],
  ])('%s', async (_, command, before, cold, warm) => {
    const asked: number[] = []
    for (const isWarm of [false, true]) {
      const { store, asked: count } = counting(await begin())
      const chat = storeOn(store, actor).conversation('c')
      for (const each of before) right(await each(chat)())
      const then = count()
      right(await command(isWarm ? chat : storeOn(store, actor).conversation('c'))())
      asked.push(count() - then)
    }
    expect(asked).toEqual([cold, warm])
  })

  test.each<readonly [string, readonly Run[], number]>([
    ['that only appended', [append], 1],
    ['that has loaded what is shown', [append, (chat) => chat.configure({ model: 'm' })], 1],
    ['that did nothing yet', [], 2],
  ])('restore of a marker of somebody else, in a process %s', async (_, before, most) => {
    const store = memoryStore()
    const others = storeOn(store, actor).conversation('c')
    for (let n = 0; n < 200; n++) right(await others.append(said(`${n}`))())
    const covers = Array.from({ length: 15 }, (__, n) => ({ first: 10 * n + 1, last: 10 * n + 4 }))
    const markers: number[] = []
    for (const each of covers) {
      const { position } = right(await others.condense({ covers: each, summary: 'S.' })())
      markers.push(position)
      for (let n = 0; n < 5; n++) right(await others.append(said(`${n}`))())
    }
    for (const marker of [markers[0], markers[7], markers[14]]) {
      const { store: counted, asked } = counting(store)
      const chat = storeOn(counted, actor).conversation('c')
      for (const each of before) right(await each(chat)())
      const then = asked()
      right(await chat.restore({ marker: Number(marker) })())
      expect(asked() - then).toBeLessThanOrEqual(most)
      right(await chat.undo()())
    }
  })

  test('a command is decided on what others wrote, also where it would be refused by what is remembered', async () => {
    const store = await begin()
    const [mine, others] = [storeOn(store, actor), storeOn(store, actor)].map((one) => one.conversation('c'))
    right(await append(mine as ConversationHandle)())
    right(await condense(others as ConversationHandle)())
    expect(right(await (mine as ConversationHandle).undo()())).toMatchObject({
      events: [{ type: 'Rewound' }],
    })
    right(await append(others as ConversationHandle)())
    const { position } = right(await (mine as ConversationHandle).append(said('x'), { after: 36 })())
    expect(position).toBe(37)
  })
})

test.each([
  // A position, how many events come from there, and how often the store is asked for them.
  [300, 150, 2],
  [449, 1, 2],
  [250, 200, 3],
  [100, 350, 4],
  [450, 0, 3],
])(
  'the events from %i on: the first page of them shows the end, if it is reached',
  async (from, events, most) => {
    const { store, asked } = counting(memoryStore())
    right(
      await storeOn(store, actor)
        .conversation('c')
        .append(Array.from({ length: 450 }, () => said('x')))(),
    )
    const before = asked()
    const positions: number[] = []
    for await (const { position } of storeOn(store, actor).conversation('c').events({ from }))
      positions.push(position)
    expect(asked() - before).toBe(most)
    expect(positions).toEqual(Array.from({ length: events }, (_, n) => from + n))
  },
)

test('the events of a fork, from before, at and after its beginning', async () => {
  const { conversation } = storeOn(memoryStore(), actor)
  const parent = conversation('c')
  right(await parent.append(Array.from({ length: 5 }, () => said('x')))())
  const fork = right(await parent.fork('d', { at: 2 })())
  right(await fork.append([said('y'), said('z')])())
  for (const from of [0, 2, 3, 5, 6]) {
    const positions: number[] = []
    for await (const { position } of conversation('d').events({ from })) positions.push(position)
    expect(positions).toEqual([0, 1, 2, 3, 4, 5].slice(from))
  }
})

test('how two positions differ is read without what came before them, but for what is shown', async () => {
  const store = memoryStore()
  const others = storeOn(store, actor).conversation('c')
  right(await others.append(Array.from({ length: 3_000 }, (_, n) => said(`${n}`)))())
  right(await others.condense({ summary: 'S.', keepLast: 20 })())
  const { position: to } = right(await others.condense({ summary: 'T.', keepLast: 10 })())
  let read = 0
  const counted: EventStore = {
    ...store,
    read: (asked) => async () => {
      const page = await store.read(asked)()
      if (E.isRight(page)) read += page.right.length
      return page
    },
  }
  const { changes } = right(
    await storeOn(counted, actor)
      .conversation('c')
      .diff({ from: to - 1 })(),
  )
  expect(changes.filter(({ change }) => change !== 'kept')).toHaveLength(12)
  expect(read).toBeLessThan(500)
})

test('how two positions differ is told of more messages than a call takes arguments', async () => {
  // All of them are too many for one call.
  const count = runs(130_000)
  const store = memoryStore()
  await write(store, 'c', [...Array.from({ length: count }, (_, n) => user(`${n}`)), condensed(0, count - 1)])
  const { changes } = right(
    await storeOn(store, actor)
      .conversation('c')
      .diff({ from: count - 1 })(),
  )
  expect(changes).toHaveLength(count + 1)
})

const logAt = async (store: EventStore): Promise<Log> => {
  const opened = await openAt(store, 'c')
  return E.isLeft(opened) ? [] : right(await loadLog(opened.right.reading, opened.right.last))
}
const bare = (log: Log) => log.map(({ type, data }: ConversationEvent) => ({ type, data }))

test('what several processes do in turn is what one would do that reads the whole log each time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(steps, fc.nat(2)), { minLength: 1, maxLength: 40, size: 'max' }),
      async (all) => {
        const store = memoryStore()
        const processes = [handler(store, actor), handler(store, actor), handler(store, actor)]
        let log: Log = []
        for (const [step, who] of all) {
          const command = step(log)
          if (!command) continue
          const wanted = apply(log, command)
          const done = await processes[who]?.handle('c', command, {})
          const now = await logAt(store)
          expect(bare(now)).toEqual(bare(wanted))
          if (done && E.isRight(done)) expect(done.right.position).toBe(now.length - 1)
          log = now
        }
      },
    ),
    { numRuns: runs(100) },
  )
})

test('a bug while a log is loaded is not taken for an error of the store', async () => {
  const opened = right(await openAt(await begin(), 'c'))
  const bug = new TypeError('a bug')
  const loading = loadLog(opened.reading, opened.last, () => {
    throw bug
  })
  await expect(loading).rejects.toBe(bug)
})
