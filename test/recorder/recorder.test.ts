import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import type { ModelExchange } from '../../src/recorder.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

const bytesOf = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))

let seconds = 0
/** A call that is answered with a text. */
const callWith = (
  body: unknown,
  {
    text = 'Yes.',
    headers = {},
    status = 200,
  }: { text?: string; headers?: Record<string, string>; status?: number } = {},
): ModelExchange => {
  const begun = new Date(Date.UTC(2026, 10, 30) + ++seconds * 1_000)
  const reply = {
    type: 'message',
    role: 'assistant',
    id: 'msg_1',
    model: 'm',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  return {
    path: '/v1/messages',
    headers,
    body: bytesOf(body),
    begun,
    ended: new Date(begun.getTime() + 500),
    reply: { status, headers: { 'content-type': 'application/json' }, body: bytesOf(reply), isWhole: true },
  }
}
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const bodyOf = (...messages: readonly unknown[]) => ({ model: 'm', max_tokens: 10, messages })
const labelsOf = async (store: Store, ...exchanges: readonly ModelExchange[]): Promise<readonly string[]> => {
  const labels: string[] = []
  for (const exchange of exchanges) {
    const call = await store.record(exchange)
    labels.push(`${call?.label} ${call?.conversation}`)
  }
  return labels.map((label) => label.replaceAll(/-[0-9a-z]{8,}$/g, '-…'))
}

describe('store.record', () => {
  it('records nothing of other paths, and refuses what is no exchange', async () => {
    const store = await opened('memory:')
    expect(await store.record({ ...callWith(bodyOf(user('Hello.'))), path: '/v1/models' })).toBeUndefined()
    await expect(store.record(null as never)).rejects.toMatchObject({ _tag: 'InvalidInput' })
    await expect(store.record({ ...callWith({}), body: 'text' } as never)).rejects.toMatchObject({
      path: 'body',
    })
  })

  it('says of a body that it cannot read nothing but that', async () => {
    const store = await opened('memory:')
    const error: unknown = await store.record(callWith('sk-canary {')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ _tag: 'InvalidInput', path: 'body' })
    expect(String(error)).not.toContain('canary')
  })

  it('links a subagent to the conversation of its session', async () => {
    const store = await opened('memory:')
    const headers = { 'x-claude-code-session-id': 's' }
    await store.record(callWith(bodyOf(user('Hello.')), { headers }))
    await store.record(
      callWith(bodyOf(user('Look.')), { headers: { ...headers, 'x-claude-code-agent-id': 'a' } }),
    )
    expect(await store.conversation('recorded-s:a').links()).toMatchObject([
      { relation: 'subagent-of', conversation: 'recorded-s' },
    ])
  })

  it('folds a long log again that had content erased', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const headers = { 'x-session-id': 'long' }
    const messages = Array.from({ length: 1_100 }, (_, index) =>
      index % 2 === 0 ? user(`Question number ${index}.`) : assistant(`Answer number ${index}.`),
    )
    const first = await openStore(url)
    await first.record(callWith(bodyOf(...messages, user('And?')), { headers }))
    await first.conversation('recorded-long').erase({ positions: [700], by: 'ann', reason: 'a request' })
    await first.close()
    const store = await opened(url)
    const next = callWith(bodyOf(...messages, user('And?'), assistant('Yes.'), user('More?')), { headers })
    expect(await store.record(next)).toMatchObject({ conversation: 'recorded-long', isExact: true })
  })

  it('keeps two users apart who begin with the same prompt and name no session', async () => {
    const store = await opened('memory:')
    const first = user('Hello.')
    const labels = await labelsOf(
      store,
      callWith(bodyOf(first), { text: 'Hello, Ann.' }),
      callWith(bodyOf(first), { text: 'Hello, Bob.' }),
      callWith(bodyOf(first, assistant('Hello, Ann.'), user('And?'))),
      callWith(bodyOf(first, assistant('Hello, Bob.'), user('And?'))),
    )
    expect(labels.map((label) => label.split(' ')[0])).toEqual(['begin', 'begin', 'append', 'append'])
    for await (const { id } of store.conversations())
      expect((await store.conversation(id).context()).items).toHaveLength(4)
  })

  it('begins with a fork where a new session has the history of another one', async () => {
    const store = await opened('memory:')
    const [one, two] = [{ 'x-session-id': 'one' }, { 'x-session-id': 'two' }]
    const said = [user('Hello.'), assistant('Hello, Ann.')]
    const labels = await labelsOf(
      store,
      callWith(bodyOf(user('Hello.')), { text: 'Hello, Ann.', headers: one }),
      callWith(bodyOf(...said, user('Go on.')), { headers: one }),
      callWith(bodyOf(...said, user('Or stop.')), { headers: two }),
    )
    expect(labels).toEqual(['begin recorded-one', 'append recorded-one', 'fork recorded-two'])
    const { items } = await store.conversation('recorded-two').context()
    expect(items.map(({ position }) => position)).toEqual([1, 2, 4, 5])
  })

  it('records what a program sent although it was erased in the conversation that its session was forked from', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const [store, other] = [await opened(url), await opened(url)]
    const [one, two] = [{ 'x-session-id': 'one' }, { 'x-session-id': 'two' }]
    const said = [user('Hello.'), assistant('Hello, Ann.'), user('Go on.'), assistant('Yes.')]
    await store.record(callWith(bodyOf(...said.slice(0, 1)), { text: 'Hello, Ann.', headers: one }))
    expect(await store.record(callWith(bodyOf(...said.slice(0, 3)), { headers: two }))).toMatchObject({
      label: 'fork',
    })
    await other.conversation('recorded-one').erase({ positions: [1], by: 'ann', reason: 'a request' })
    const last = bodyOf(...said, user('And now?'))
    expect(await store.record(callWith(last, { headers: two }))).toMatchObject({
      conversation: 'recorded-two',
      isExact: true,
    })
    const chat = other.conversation('recorded-two')
    expect((await chat.sent()).body).toEqual(last)
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
  })

  it('proves with each receipt the bytes of the body: another configuration does not have them', async () => {
    const store = await opened('memory:')
    const headers = { 'x-session-id': 'one' }
    await store.record(callWith(bodyOf(user('Hello.')), { headers }))
    const chat = store.conversation('recorded-one')
    const sent = await chat.sent()
    expect(JSON.stringify(sent.body)).toBe(JSON.stringify(bodyOf(user('Hello.'))))
    const { options, ...receipt } = sent.receipt
    const recorded = options['recorded'] as { readonly body: { readonly sha256: string } }
    const other = {
      ...recorded,
      body: { ...recorded.body, sha256: recorded.body.sha256.replace(/^./, (x) => (x === 'a' ? 'b' : 'a')) },
    }
    const copy = store.conversation('copy')
    await copy.configure({ model: 'm', parameters: { max_tokens: 10 } })
    await copy.append(user('Hello.') as never)
    await copy.append({
      role: 'assistant',
      content: 'Yes.',
      origin: { model: 'm', context: { ...receipt, options: { ...options, recorded: other } } },
    })
    const { findings } = await copy.verifyReceipts()
    expect(findings).toMatchObject([{ kind: 'digest' }])
  })

  it('records a body that JSON.stringify would not have written, and proves its content', async () => {
    const store = await opened('memory:')
    const text = '{"model": "m", "temperature": 1.0, "messages": [{"role": "user", "content": "Hello."}]}'
    expect(await store.record(callWith(text))).toMatchObject({ label: 'begin', isExact: false })
    for await (const { id } of store.conversations()) {
      expect(await store.conversation(id).verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
      expect((await store.conversation(id).sent()).body).toEqual(JSON.parse(text))
    }
  })

  it('stores no id of an account: of the metadata only the session', async () => {
    const store = await opened('memory:')
    const user_id = JSON.stringify({ device_id: 'device-1', account_uuid: 'account-1', session_id: 's-1' })
    const body = { ...bodyOf(user('Hello.')), metadata: { user_id }, user: 'account-2' }
    expect(await store.record(callWith(body))).toMatchObject({ conversation: 'recorded-s-1', isExact: true })
    const all: unknown[] = []
    for await (const each of store.readAll()) all.push(each)
    expect(JSON.stringify(all)).not.toMatch(/device-1|account-1|account-2/)
    expect((await store.conversation('recorded-s-1').sent()).body).toEqual({
      ...bodyOf(user('Hello.')),
      metadata: { user_id: '{"session_id":"s-1"}' },
    })
  })

  it('continues after somebody else has written to the conversation, and after an erasure', async () => {
    const store = await opened('memory:')
    const headers = { 'x-session-id': 'one' }
    const said = [user('Hello.'), assistant('Hello, Ann.')]
    await store.record(callWith(bodyOf(user('Hello.')), { text: 'Hello, Ann.', headers }))
    await store.conversation('recorded-one').append({ role: 'user', content: 'A word between.' })
    const next = callWith(bodyOf(...said, user('Go on.')), { headers })
    expect(await store.record(next)).toMatchObject({ label: 'rewind', isExact: true })
    await store.conversation('recorded-one').erase({ positions: [1], by: 'ann', reason: 'a request' })
    const last = callWith(bodyOf(...said, user('Go on.'), assistant('Yes.'), user('And?')), { headers })
    expect(await store.record(last)).toMatchObject({ conversation: 'recorded-one', isExact: true })
    const { findings } = await store.conversation('recorded-one').verifyReceipts()
    expect(findings).toEqual([])
  })

  it('records a call with an id once, also after the recorder has started again, and a request before its reply', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const headers = { 'x-claude-code-session-id': 's' }
    const first = { ...callWith(bodyOf(user('Hello.')), { headers }), id: 'call-1' }
    const none = { status: 0, headers: {}, body: new Uint8Array(), isWhole: false }
    const opening = { ...first, reply: none, isOpen: true }
    const next = bodyOf(user('Hello.'), assistant([{ type: 'text', text: 'Yes.' }]), user('And now?'))
    const second = { ...callWith(next, { headers, text: 'Now, too.' }), id: 'call-2' }
    const store = await openStore(url)
    expect(await store.record(opening)).toMatchObject({
      conversation: 'recorded-s',
      position: 1,
      label: 'begin',
    })
    expect(await store.record(first)).toMatchObject({
      conversation: 'recorded-s',
      position: 2,
      isExact: true,
    })
    expect(await store.record(second)).toMatchObject({ position: 4, label: 'append' })
    expect(await store.record(second)).toBeUndefined()
    await store.close()
    const again = await openStore(url)
    for (const exchange of [first, second]) expect(await again.record(exchange)).toBeUndefined()
    await expect(again.record({ ...first, id: 'a b' })).rejects.toMatchObject({ path: 'id' })
    await expect(again.record({ ...opening, id: undefined })).rejects.toMatchObject({ path: 'id' })
    await again.close()
  })

  it('keeps calls of one session apart that are open at once', async () => {
    const store = await opened('memory:')
    const headers = { 'x-claude-code-session-id': 's' }
    const none = { status: 0, headers: {}, body: new Uint8Array(), isWhole: false }
    const asked = (text: string) => ({
      ...callWith(bodyOf(user(text)), { headers, text: `To ${text}` }),
      id: text.replace('.', ''),
    })
    const [one, other] = [asked('One.'), asked('Other.')]
    for (const call of [one, other]) await store.record({ ...call, reply: none, isOpen: true })
    for (const call of [other, one]) await store.record(call)
    const replies = new Map<string, unknown>()
    for (const id of ['recorded-s', 'recorded-s:side-1'])
      replies.set(
        id,
        (await store.conversation(id).effective()).flatMap((item) =>
          item.kind === 'message' ? [item.content] : [],
        ),
      )
    const text = (said: string) => [{ type: 'text', text: said }]
    expect([...replies.values()]).toEqual([
      [text('One.'), text('To One.')],
      [text('Other.'), text('To Other.')],
    ])
  })
})
