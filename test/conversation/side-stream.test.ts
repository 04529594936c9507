import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import { inboxOf } from '../../src/conversation/beside/inbox.ts'
import { turnLog } from '../../src/conversation/beside/turn-log.ts'
import { tell } from '../../src/conversation/beside/worker-log.ts'
import { hashOf, type StoredEvent } from '../../src/events/codec.ts'
import { eventId, inboxStreamOf, notesStreamOf, turnsStreamOf, workerStreamOf } from '../../src/events/ids.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { right } from '../support/either.ts'

const actor = { kind: 'test', id: 't' }
const now = new Date('2026-01-02T03:04:05.678Z')
const said = { role: 'user', content: 'Hello.' } as const
const named = { commandId: 'k', now, correlationId: 'all', causationId: 'it' }

/** The metadata of a fact, as text. */
const metadata = (prev: string | null, commandId: string, linked: string): string =>
  `{"schema":1,"time":"2026-01-02T03:04:05.678Z","actor":{"kind":"test","id":"t"},"commandId":"${commandId}"${linked},"prev":${prev === null ? null : `"${prev}"`}}`
const links = ',"$correlationId":"all","$causationId":"it"'

const storedIn = async (store: EventStore, stream: string): Promise<readonly StoredEvent[]> =>
  right(await store.read({ stream, from: 0, direction: 'forwards', limit: 10 })())
/** The texts of events without their salts, which every one of them begins with. */
const texts = (events: readonly StoredEvent[]): readonly string[] =>
  events.map(
    ({ type, data, metadata: text }) => `${type} ${data} ${text.replace(/^\{"salt":"[\w-]{22}",/, '{')}`,
  )
const textsOf = (
  facts: readonly [fact: string, commandId: string, linked: string][],
  there: readonly StoredEvent[],
) =>
  facts.map(([fact, commandId, linked], index) => {
    const before = there[index - 1]
    return `${fact} ${metadata(before ? hashOf(before) : null, commandId, linked)}`
  })

describe('facts beside a conversation are stored to the byte as they always were, apart from a salt', () => {
  const begun = async () => {
    const store = memoryStore()
    const chat = storeOn(store, actor).conversation('c')
    right(await chat.append(said)())
    return { store, chat }
  }

  test('notes: ids derive from the command, and each names the hash of the one before', async () => {
    const { store, chat } = await begun()
    right(await chat.note({ kind: 'test/a', data: 1 }, named)())
    right(await chat.note({ kind: 'test/b' }, { now })())
    const stream = notesStreamOf('c')
    const stored = await storedIn(store, stream)
    const [first, second] = stored
    expect(first?.id).toBe(eventId(stream, 'k', 0))
    expect(texts(stored)).toEqual(
      textsOf(
        [
          ['Noted {"kind":"test/a","data":1,"at":0}', 'k', links],
          ['Noted {"kind":"test/b","at":0}', second?.id ?? '', ''],
        ],
        stored,
      ),
    )
  })

  test('an inbox: ids derive from the command, and each names the hash of the one before', async () => {
    const { store } = await begun()
    const inbox = inboxOf(store, actor, 'c')
    const queued = right(await run(inbox.queue([said], 0, named)))
    expect(right(await run(inbox.queue([said], 5, named)))).toEqual(queued)
    right(await run(inbox.queue([said], 0, { now })))
    const stream = inboxStreamOf('c')
    const stored = await storedIn(store, stream)
    const [first, second] = stored
    expect(first?.id).toBe(eventId(stream, 'k', 0))
    const message = '"messages":[{"role":"user","content":"Hello."}],"at":0'
    expect(texts(stored)).toEqual(
      textsOf(
        [
          [`Queued {${message}}`, 'k', links],
          [`Queued {${message}}`, second?.id ?? '', ''],
        ],
        stored,
      ),
    )
  })

  test('turns: every fact has an id of its own, which names its command if nothing else does', async () => {
    const { store } = await begun()
    const log = turnLog(store, actor, 'c')
    const facts = [
      { type: 'TurnsBegun', data: { at: 0 } },
      { type: 'TurnsPaused', data: { by: 'ann', at: -1 } },
    ] as const
    const end = right(await run(log.append(facts, -1, { now })))
    right(await run(log.append([facts[1]], end.revision, named)))
    const stored = await storedIn(store, turnsStreamOf('c'))
    const ids = stored.map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(ids).not.toContain(eventId(turnsStreamOf('c'), 'k', 0))
    expect(end).toMatchObject({ revision: 1, begun: ids[0] })
    // Who reads back from the end stops at what was recorded before a position: it never falls.
    const paused = 'TurnsPaused {"by":"ann","at":0}'
    expect(texts(stored)).toEqual(
      textsOf(
        [
          ['TurnsBegun {"at":0}', ids[0] ?? '', ''],
          [paused, ids[1] ?? '', ''],
          [paused, 'k', links],
        ],
        stored,
      ),
    )
  })

  test('a worker: nothing is chained', async () => {
    const { store } = await begun()
    for (const by of ['ann', 'bob'])
      right(await run(tell(store, actor, 'w', { type: 'WorkerPaused', data: { by } })))
    const stored = await storedIn(store, workerStreamOf('w'))
    expect(
      texts(stored).map((text) => text.replace(/"time":"[^"]+"/, `"time":"${now.toISOString()}"`)),
    ).toEqual(
      ['ann', 'bob'].map(
        (by, index) => `WorkerPaused {"by":"${by}"} ${metadata(null, stored[index]?.id ?? '', '')}`,
      ),
    )
  })
})

/** A store that counts what is asked of it. */
const counted = (inner: EventStore) => {
  const calls: string[] = []
  const store: EventStore = {
    ...inner,
    read: (range) => (calls.push('read'), inner.read(range)),
    find: (...asked) => (calls.push('find'), inner.find(...asked)),
    append: (request) => (calls.push('append'), inner.append(request)),
  }
  return { store, calls: () => calls.splice(0).toSorted().join(' ') }
}

test('a fact costs no more than its end, itself, and for one with a name a look for a repeat', async () => {
  const inner = memoryStore()
  right(await storeOn(inner, actor).conversation('c').append(said)())
  const { store, calls } = counted(inner)
  const inbox = inboxOf(store, actor, 'c')
  right(await run(inbox.queue([said], 0, {})))
  expect(calls()).toBe('append read read')
  right(await run(inbox.queue([said], 0, named)))
  expect(calls()).toBe('append find read read')
  right(await run(inbox.take(1, 0)))
  expect(calls()).toBe('append read read')
  right(await run(inbox.take(1, 0)))
  expect(calls()).toBe('read')
  right(await run(tell(store, actor, 'w', { type: 'WorkerStopped', data: {} })))
  expect(calls()).toBe('append read')
})
