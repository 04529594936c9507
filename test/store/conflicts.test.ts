import * as E from 'fp-ts/lib/Either.js'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { record } from '../../src/audit/ledger/stored-facts.ts'
import type { Model } from '../../src/index.ts'
import { letGo } from '../../src/agent/turn/claims/let-go.ts'
import { recordFact } from '../../src/agent/turn/say/record-fact.ts'
import { storeOn, taskStore } from '../../src/api/open.ts'
import { promiseStore } from '../../src/api/promises.ts'
import { inboxOf } from '../../src/conversation/beside/inbox.ts'
import { turnLog } from '../../src/conversation/beside/turn-log.ts'
import { tell } from '../../src/conversation/beside/worker-log.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { left, right } from '../support/either.ts'

const actor = { kind: 'test' }
const said = { role: 'user', content: 'Hello.' } as const

/** A fact of somebody else for each kind of stream. */
const rivals = {
  conversation: { type: 'MessageAppended', data: { role: 'user', content: [{ type: 'text', text: 'Hi.' }] } },
  notes: { type: 'Noted', data: { kind: 'test/other', at: 0 } },
  inbox: { type: 'Queued', data: { messages: [said], at: 0 } },
  turns: { type: 'TurnRequested', data: { at: 0 } },
  worker: { type: 'WorkerResumed', data: { by: 'other' } },
  ledger: { type: 'Other', data: {} },
} as const
type Kind = keyof typeof rivals

/** A store in which somebody else is faster, so many times. */
const contested = async (kind: Kind, times: number) => {
  const store = memoryStore()
  right(await storeOn(store, actor).conversation('c').append(said, { answer: true })())
  let rest = times
  const faster: EventStore = {
    ...store,
    append: (request) => async () => {
      const { stream, expected } = request
      if (stream.startsWith(`${kind}-`) && rest-- > 0) {
        const { type, data } = rivals[kind]
        const time = '2026-01-01T00:00:00.000Z'
        const metadata = { schema: 1, time, actor, commandId: `other-${rest}`, prev: null }
        const event = { type, id: crypto.randomUUID(), data: JSON.stringify(data) }
        const events = [{ ...event, metadata: JSON.stringify(metadata) }]
        right(await store.append({ stream, events, expected })())
      }
      return store.append(request)()
    },
  }
  return { store: faster, rest: () => Math.max(0, rest) }
}

type Write = (store: EventStore) => Promise<E.Either<{ readonly _tag: string }, unknown>>
const chat = (store: EventStore) => storeOn(store, actor).conversation('c')
const log = (store: EventStore) => turnLog(store, actor, 'c')
const released = { step: 's@0', worker: 'w', reason: 'free', at: 0 } as const
const reply = { content: [{ type: 'text', text: 'Hi.' }], origin: { stopReason: 'end_turn' } } as const
const client: Model = {
  call: () => Promise.resolve(E.right(reply)),
  countTokens: () => Promise.resolve(E.right(1)),
}

const writes: readonly (readonly [what: string, kind: Kind, write: Write])[] = [
  ['a message', 'conversation', (store) => chat(store).append(said)()],
  ['a note', 'notes', (store) => chat(store).note({ kind: 'test/own' })()],
  ['a queued message', 'inbox', (store) => run(inboxOf(store, actor, 'c').queue([said], 0, {}))],
  [
    'a fact of turns',
    'turns',
    (store) => run(recordFact(chat(store), (at) => ({ type: 'TurnsPaused', data: { by: 'ann', at } }))),
  ],
  [
    'the end of a claim',
    'turns',
    (store) => run(letGo(log(store), -1, () => ({ type: 'TurnReleased', data: released }))),
  ],
  [
    'the claim of a turn',
    'turns',
    async (store) => {
      const { turn } = promiseStore(taskStore(storeOn(store, actor))).conversation('c')
      return turn({ client, model: 'm' }).then(E.right, E.left)
    },
  ],
  [
    'a fact of a worker',
    'worker',
    (store) => run(tell(store, actor, 'w', { type: 'WorkerStopped', data: {} })),
  ],
  [
    'a fact of the ledger',
    'ledger',
    (store) => run(record({ store, actor }, 'ledger-1', { type: 'LedgerAnchored', data: anchored })),
  ],
]
const anchored = { anchor: 'a', size: 1, checkpoint: 'c' }

beforeEach(() => {
  // The waits between tries are as short as they can be.
  vi.spyOn(Math, 'random').mockReturnValue(0)
  return () => vi.restoreAllMocks()
})

describe.each(writes)('%s', (_, kind, write) => {
  test('is written although others are faster a few times', async () => {
    const { store, rest } = await contested(kind, 3)
    right(await write(store))
    expect(rest()).toBe(0)
  })

  test('is given up with the conflict if others are faster a hundred times', async () => {
    const { store, rest } = await contested(kind, 150)
    expect(left(await write(store))).toMatchObject({ _tag: 'Conflict' })
    expect(rest()).toBe(50)
  })
})
