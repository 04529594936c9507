import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { createAccessToken, accessTokensIn } from '../../src/server/access-tokens.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { parkStep } from '../support/park-step.ts'
import { type Asked, serving } from '../support/server/asking.ts'
import { wiper } from '../support/server/wiper.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

const said = (content: string) => ({ role: 'user', content }) as const
const append = (content: string) => ({ type: 'append', messages: [said(content)] })
const under = (key: string) => ({ 'idempotency-key': key, 'if-match': '*' })

const turn = {
  client: wiper,
  model: 'm',
  tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
  run: { wipe: { run: () => 'wiped', approve: true } },
}
/** `a` has a message, in `w` a call waits, `p` is parked. */
const filled = async () => {
  const events = memoryStore()
  const store = await openStore(events)
  atEnd(store.close)
  await parkStep(events, 'p')
  for (const id of ['a', 'w', 'e']) await store.conversation(id).append(said('Begin.'))
  for (const id of ['w', 'e']) await store.conversation(id).turn(turn)
  await store.conversation('e').approve('call_1', { by: 'ann' })
  return { ...(await serving({ store })), store }
}

/** Everything that is recorded of all conversations: events, notes, and facts of turns. */
const recorded = async (store: Store): Promise<number> => {
  let count = 0
  for (const id of ['a', 'b', 'w', 'e', 'p']) {
    const chat = store.conversation(id)
    try {
      for await (const _ of chat.events()) count++
      for await (const _ of chat.turnFacts()) count++
      count += (await chat.notes()).length + (await chat.links()).length + (await chat.queued()).length
    } catch (error) {
      if (id !== 'b') throw error
    }
  }
  return count
}

/** What can be asked for under an id, and something else of the kind. */
const operations: readonly (readonly [path: string, json: object, other: object])[] = [
  ['conversations/a/commands', append('One.'), append('Another.')],
  ['conversations/a/commands', { type: 'fork', id: 'b' }, { type: 'fork', id: 'c' }],
  ['conversations/a/messages', { messages: [said('One.')] }, { messages: [said('Another.')] }],
  ['conversations/a/notes', { kind: 'title', data: 'One' }, { kind: 'title', data: 'Another' }],
  ['conversations/a/links', { relation: 'of', ref: '1' }, { relation: 'of', ref: '2' }],
  ['conversations/a/request', { tenant: 'one' }, { tenant: 'another' }],
  ['conversations/a/cancel', { reason: 'one' }, { reason: 'another' }],
  ['conversations/a/pause', { reason: 'one' }, { reason: 'another' }],
  ['conversations/a/resume', { reason: 'one' }, { reason: 'another' }],
  ['conversations/a/erase', { positions: [0] }, { positions: [1] }],
  ['conversations/a/hold', { reason: 'one' }, { reason: 'another' }],
  ['conversations/a/release', { reason: 'one' }, { reason: 'another' }],
  ['conversations/p/retry', { reason: 'one' }, { reason: 'another' }],
  ['conversations/w/waiting/call_1/approve', { note: 'one' }, { note: 'another' }],
  ['conversations/w/waiting/call_1/deny', { reason: 'one' }, { reason: 'another' }],
  ['conversations/e/waiting/call_1/withdraw', { reason: 'one' }, { reason: 'another' }],
]

test.each(operations)('%s has an Idempotency-Key of 1 to 1,000 characters', async (path, json) => {
  const { ask, store } = await filled()
  const before = await recorded(store)
  for (const key of ['', 'k'.repeat(1_001)])
    expect(await ask(path, { json, headers: under(key) })).toMatchObject({
      status: 400,
      json: { tag: 'InvalidRequest' },
    })
  expect(await recorded(store)).toBe(before)
})

describe.each(operations)('%s under an id: %j', (path, json, other) => {
  const given = (body: object): Asked => ({ json: body, headers: under('k') })

  test('is carried out once, and has the same answer', async () => {
    const { ask, store } = await filled()
    const first = await ask(path, given(json))
    expect([200, 202]).toContain(first.status)
    const before = await recorded(store)
    const again = await ask(path, given(json))
    expect(again).toMatchObject({ status: first.status, json: first.json })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await recorded(store)).toBe(before)
    expect(await ask(path, given(other))).toMatchObject({ status: 422, json: { tag: 'CommandReused' } })
    expect(await recorded(store)).toBe(before)
  })

  test('given twice at the same moment is carried out once, and something else under the id is refused', async () => {
    const { ask, store } = await filled()
    const [one, same, another] = await Promise.all([json, json, other].map((body) => ask(path, given(body))))
    expect([200, 202]).toContain(one?.status)
    expect(same).toMatchObject({ status: one?.status, json: one?.json })
    expect(another).toMatchObject({ status: 422, json: { tag: 'CommandReused' } })
    const twice = await recorded(store)
    const { ask: askOnce, store: once } = await filled()
    await askOnce(path, given(json))
    expect(twice).toBe(await recorded(once))
  })
})

test('a command that was refused may be given again under its id', async () => {
  const { ask } = await filled()
  const headers = { 'idempotency-key': 'k', 'if-match': '"r7"' }
  expect(await ask('conversations/a/commands', { json: append('One.'), headers })).toMatchObject({
    status: 412,
  })
  expect(await ask('conversations/a/commands', { json: append('One.'), headers: under('k') })).toMatchObject({
    status: 200,
    json: { position: 1 },
  })
})

test('a turn that is asked for twice at the same moment under an id is asked for once', async () => {
  const { ask, store } = await filled()
  const json = { messages: [said('Why?')] }
  const asked = await Promise.all(
    [json, json].map((body) => ask('conversations/a/turns', { json: body, headers: under('t') })),
  )
  for (const { text } of asked) expect(text).toContain('event: asked')
  expect(await store.conversation('a').position()).toBe(1)
  const other = { messages: [said('How?')] }
  expect(await ask('conversations/a/turns', { json: other, headers: under('t') })).toMatchObject({
    status: 422,
  })
})

describe('a conversation that is begun under a command id, without an id of its own', () => {
  const begin = (content: string, more: object = {}): Asked => ({
    json: { messages: [said(content)] },
    headers: { 'idempotency-key': 'begin', ...more },
  })
  const ids = async (store: Store): Promise<readonly string[]> => {
    const all = []
    for await (const { id } of store.conversations()) all.push(id)
    return all
  }

  test('is begun once, also by a server that was started again', async () => {
    const store = await opened('memory:')
    const { ask } = await serving({ store })
    const all = await Promise.all([1, 2, 3].map(() => ask('conversations', begin('Hello.'))))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([201]))
    expect(await ask('conversations', begin('Good day.'))).toMatchObject({ status: 422 })
    const { ask: later } = await serving({ store })
    const again = await later('conversations', begin('Hello.'))
    expect(again).toMatchObject({ status: 201, json: all[0]?.json })
    expect(await ids(store)).toEqual([again.json['id']])
    const { json } = await later('conversations', {
      json: { from: { conversation: again.json['id'] }, commandId: 'fork' },
    })
    const { ask: latest } = await serving({ store })
    const forked = { json: { from: { conversation: again.json['id'] }, commandId: 'fork' } }
    expect((await latest('conversations', forked)).json).toEqual(json)
    expect(await ids(store)).toHaveLength(2)
  })

  test('is another one for another caller', async () => {
    const tokens = join(temporaryFolder(), 'tokens.json')
    const [ann, bob] = ['ann', 'bob'].map((name) => createAccessToken(tokens, name, ['read', 'write']))
    const { ask } = await serving({ authenticate: accessTokensIn(tokens) })
    const by = (token: string | undefined) => begin('Hello.', { authorization: `Bearer ${token}` })
    const [one, other] = [await ask('conversations', by(ann)), await ask('conversations', by(bob))]
    expect([one.status, other.status]).toEqual([201, 201])
    expect(one.json['id']).not.toBe(other.json['id'])
  })
})
