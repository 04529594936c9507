import { setImmediate as immediate } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it, test } from 'vitest'
import { taskConversation, type TaskConversation } from '../../src/api/conversation.ts'
import { storeOn } from '../../src/api/open.ts'
import { openStore, type SealerEvent, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { messagesApi } from '../../src/testing/index.ts'
import { newSigner, problemsIn } from '../audit/ledger/scene.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { bytesIn } from '../support/forms.ts'
import { temporaryFolder } from '../support/stores.ts'
import { noCatalogue } from '../support/no-catalogue.ts'

const opened = async (file: string): Promise<Store> => {
  const store = await openStore(`sqlite:${file}`)
  atEnd(store.close)
  return store
}

describe('what a process remembers of a fork', () => {
  it('is not sent to the model again once it is erased, by another process, in the conversation before the fork', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const [store, other] = [await opened(file), await opened(file)]
    const parent = store.conversation('task-42')
    await parent.append([
      { role: 'user', content: 'My card is 4111.' },
      { role: 'assistant', content: 'Noted.' },
    ])
    await parent.fork('fork')
    const chat = store.conversation('fork')
    const api = await messagesApi({})
    atEnd(api.close)
    const client = new Anthropic({ apiKey: 'none', baseURL: api.url, maxRetries: 0 })
    for (const content of ['And now?', 'And then?']) {
      await chat.append({ role: 'user', content })
      await chat.turn({ client, model: 'claude-opus-5-5', parameters: { max_tokens: 50 } })
    }
    await other.conversation('task-42').append({ role: 'user', content: 'It is 4111.' })
    await other.conversation('task-42').erase({ positions: [0], by: 'ann', reason: 'request 17' })
    await chat.append({ role: 'user', content: 'Once more?' })
    await chat.turn({ client, model: 'claude-opus-5-5', parameters: { max_tokens: 50 } })
    const sent = api.requests.map(({ body }) => JSON.stringify(body).includes('4111'))
    expect(sent).toEqual([true, true, false])
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [], erased: 2 })
  })
})

describe('what others write during an erasure', () => {
  it('is not erased: a call still has its input, and a queued message its words', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const chat = (await opened(file)).conversation('task-42')
    const other = (await opened(file)).conversation('task-42')
    await chat.append(
      Array.from({ length: 2_000 }, (_, n) => ({ role: 'user' as const, content: `Message ${n}.` })),
    )
    const erasure = chat.erase({ by: 'ann' })
    // The erasure writes its first record when it is half done.
    for (let isBegun = false; !isBegun;) {
      for await (const { type } of other.events({ from: 2_000 })) isBegun ||= type === 'Erased'
      await immediate()
    }
    const call = { type: 'tool_use' as const, id: 'c', name: 'rm', input: { path: '/tmp/x' } }
    await other.append({ role: 'assistant', content: [call] })
    await other.say({ role: 'user', content: 'Wait.' }, { whileBusy: 'enqueue' })
    expect((await erasure).positions).toHaveLength(2_000)
    expect((await other.effective()).at(-1)).toMatchObject({ content: [call] })
    expect(await other.queued()).toMatchObject([{ messages: [{ content: 'Wait.' }] }])
    expect((await other.verify()).discrepancy).toBeUndefined()
  })

  it('is sealed in the ledger, like the records of the erasure, while the sealer finds nothing rewritten', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const [store, sealing] = [await opened(file), await opened(file)]
    const chat = store.conversation('task-42')
    const signer = await newSigner()
    await sealing.audit.init({ signer })
    await chat.append(
      Array.from({ length: 3_000 }, (_, n) => ({ role: 'user' as const, content: `Message ${n}.` })),
    )
    await sealing.audit.seal({ signer })
    const told: SealerEvent[] = []
    const ending = new AbortController()
    const following = sealing.audit.follow({
      signer,
      every: 1,
      quiet: 1,
      events: 1,
      onEvent: (event) => void told.push(event),
      signal: ending.signal,
    })
    let isErased = false
    const erasure = chat.erase({ by: 'ann' }).finally(() => (isErased = true))
    // Fewer than the attempts of the erasure, which may lose each against a writer on a busy machine.
    for (let n = 0; n < 90 && !isErased; n++) {
      await sealing.conversation('task-42').append({ role: 'user', content: `Meanwhile ${n}.` })
      await immediate()
    }
    await erasure
    while ((await store.audit.status()).unsealed > 0) await immediate()
    ending.abort()
    await following
    expect(told.filter(({ type }) => type !== 'sealed')).toEqual([])
    expect(told.length).toBeGreaterThan(1)
    expect(await problemsIn(store)).toEqual([])
    const sealed = await store.audit.proof('task-42')
    expect(sealed.revision).toBe(await chat.position())
  })
})

test('whatever another erasure does between two reads of this one, each event is erased and recorded once', async () => {
  const most = 30
  let isOver = false
  for (let nth = 1; nth < most && !isOver; nth++) {
    const adapter = memoryStore()
    const other = taskConversation(storeOn(adapter, { kind: 'test' }).conversation('task-42'), noCatalogue)
    right(await other.append(['One.', 'Two.', 'Three.'].map((content) => ({ role: 'user', content })))())
    let reads = 0
    const read: EventStore['read'] = (range) => async () => {
      const page = await adapter.read(range)()
      if (++reads === nth) right(await other.erase({ by: 'ben' })())
      return page
    }
    const store = storeOn({ ...adapter, read }, { kind: 'test' })
    right(await taskConversation(store.conversation('task-42'), noCatalogue).erase({ by: 'ann' })())
    isOver = reads < nth
    expect([nth, right(await other.verify()())]).toEqual([
      nth,
      { conversation: 'task-42', events: 4, erased: 3 },
    ])
  }
  expect(isOver).toBe(true)
})

describe.each(['memory', 'sqlite'])('a legal hold that begins during an erasure (%s)', (kind) => {
  /** A store in which somebody holds the conversation or its fork, right before the n-th part of an erasure is written. */
  const heldBefore = async (part: number, held = 'task-42') => {
    const file = join(temporaryFolder(), 'store.db')
    const adapter = kind === 'memory' ? memoryStore() : right(await openSqlite(`sqlite:${file}`)())
    let parts = 0
    const append: EventStore['append'] = (request) => async () => {
      if (request.replaces && ++parts === part) right(await other.hold({ by: 'legal' })())
      return adapter.append(request)()
    }
    const other = taskConversation(storeOn(adapter, { kind: 'test' }).conversation(held), noCatalogue)
    const store = storeOn({ ...adapter, append }, { kind: 'test' })
    atEnd(async () => void (await store.close()()))
    const chat = taskConversation(store.conversation('task-42'), noCatalogue)
    right(
      await chat.append(
        Array.from({ length: 1_500 }, (_, n) => ({ role: 'user' as const, content: `Message ${n}.` })),
      )(),
    )
    return { chat, file }
  }
  const erasedIn = async (chat: TaskConversation) => right(await chat.verify()()).erased ?? 0

  it('lets nothing more be erased, even between its last check and the write', async () => {
    const { chat } = await heldBefore(1)
    expect(await chat.erase({ by: 'ann' })()).toMatchObject({
      left: { _tag: 'CannotErase', message: expect.stringMatching(/^nothing .*legal hold of legal/) },
    })
    expect(await erasedIn(chat)).toBe(0)
  })

  it('lets nothing be erased that a fork shows, which is held between the last check and the write', async () => {
    const { chat } = await heldBefore(1, 'fork')
    right(await chat.fork('fork')())
    expect(await chat.erase({ by: 'ann' })()).toMatchObject({
      left: { _tag: 'CannotErase', message: expect.stringMatching(/^nothing .*fork fork.*hold of legal/) },
    })
    expect(await erasedIn(chat)).toBe(0)
  })

  it('leaves the rest, and the error says that a part is gone', async () => {
    const { chat, file } = await heldBefore(2)
    expect(await chat.erase({ by: 'ann' })()).toMatchObject({
      left: { _tag: 'CannotErase', message: expect.stringMatching(/^only a part .*legal hold of legal/) },
    })
    expect(await erasedIn(chat)).toBe(1_000)
    if (kind === 'memory') return
    const bytes = bytesIn(dirname(file)).map(([, one]) => one)
    const isThere = (n: number): boolean => bytes.some((one) => one.includes(`"Message ${n}."`))
    expect([0, 999, 1_000, 1_499].map(isThere)).toEqual([false, false, true, true])
  })
})
