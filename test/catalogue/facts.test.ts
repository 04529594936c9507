import { describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { cost } from '../../src/investigate/index.ts'
import { atEnd } from '../support/at-end.ts'
import { type Origin, present, sessionFile } from '../support/sessions.ts'
import { scene, yes } from '../support/turn-scene.ts'

const opened = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  return store
}
const now = () => new Date().toISOString()
const usage = { input_tokens: 1_000, output_tokens: 100 }
const says = (content: string) => ({ role: 'user' as const, content })
const replies = (content: string, model = 'claude-opus-5-5') => ({
  role: 'assistant' as const,
  content,
  origin: { model, usage },
})

const sessions: readonly (readonly [Origin, string])[] = [
  ['sample', 'claude-code/session-with-compaction.jsonl'],
  ['sample', 'claude-code/tool-heavy.jsonl'],
  ['sample', 'clients/codex.session.jsonl'],
  ['sample', 'clients/pi.session.jsonl'],
  ['real', 'claude-code/session-with-compaction.jsonl'],
  ['real', 'pi/before-compaction.jsonl'],
]

describe('the facts about a conversation', () => {
  test.each(present(sessions))('cost what its own calls cost: %s %s', async (...session) => {
    const store = await opened()
    await store.importSession(sessionFile(...session))
    while (!(await store.catalogue.find()).isComplete);
    for (const { id, cost: usd, isCostPartial = false } of (await store.catalogue.find()).items) {
      const { own } = (await cost(store, { conversation: id })).conversations[0] ?? {}
      expect(own).toBeDefined()
      if (!own) continue
      const priced = own.calls - own.unpriced - own.uncounted
      if (priced > 0) expect(usd).toBeCloseTo(own.usd, 5)
      expect(isCostPartial).toBe(own.unpriced + own.uncounted + own.understated > 0)
    }
  })

  test('count errors where they are, also what a fork inherits', async () => {
    const store = await opened()
    const chat = store.conversation('a')
    const call = { type: 'tool_use', id: 't', name: 'run', input: {} } as const
    const failed = { type: 'tool_result', tool_use_id: 't', content: 'No such file', is_error: true } as const
    await chat.append([
      says('Run it.'),
      { role: 'assistant', content: [call] },
      { role: 'user', content: [failed] },
    ])
    await chat.append(replies('It failed.'))
    await chat.fork('b', { at: 2 })
    await chat.fork('c', { at: 1 })
    const { items, counts } = await store.catalogue.find({ order: 'id' })
    expect(items).toMatchObject([{ errors: 1, model: 'claude-opus-5-5' }, { errors: 1 }, { errors: 0 }])
    expect(counts).toMatchObject({ all: 3, errors: 2, has: { forked: 2, condensed: 0 } })
    expect((await store.catalogue.find({ errors: true })).items).toHaveLength(2)
    expect(await store.catalogue.outline('a')).toMatchObject({ failed: [2] })
    expect(await store.catalogue.overview('a', { buckets: 2 })).toMatchObject({ failed: [0, 1] })
  })

  test('count retries in the parts of an overview as the outline lists them', async () => {
    const store = await opened()
    const chat = store.conversation('a')
    const call = (id: string) => ({ type: 'tool_use', id, name: 'run', input: {} }) as const
    const failed = { type: 'tool_result', tool_use_id: 't', content: 'No such file', is_error: true } as const
    await chat.append([
      says('Run it.'),
      { role: 'assistant', content: [call('t')] },
      { role: 'user', content: [failed] },
      { role: 'assistant', content: [call('u')] },
    ])
    expect(await store.catalogue.outline('a')).toMatchObject({ retries: [3] })
    expect(await store.catalogue.overview('a', { buckets: 2 })).toMatchObject({ retries: [0, 1] })
  })

  test('say that a session is worked on if its events have times, not because it was imported just now', async () => {
    const store = await opened()
    const session = (sessionId: string, times: readonly (string | undefined)[]): string =>
      times
        .map((timestamp, n) => {
          const message = { role: 'user', content: `Say ${n}.` }
          const parentUuid = n === 0 ? null : `${sessionId}-${n - 1}`
          const uuid = `${sessionId}-${n}`
          return JSON.stringify({ type: 'user', uuid, parentUuid, sessionId, message, timestamp })
        })
        .join('\n')
    const ago = (ms: number): string => new Date(Date.now() - ms).toISOString()
    const without = session('without', [undefined, undefined])
    const { conversations } = await store.importSession({ file: 'a.jsonl', text: without })
    const live = await store.importSession({ file: 'b.jsonl', text: session('live', [ago(1_000), ago(1)]) })
    const statuses = [conversations[0], live.conversations[0]].map((one) =>
      store.catalogue.about(one?.id ?? ''),
    )
    expect(await Promise.all(statuses)).toMatchObject([{ status: 'idle' }, { status: 'working' }])
  })

  test('say what each conversation does', async () => {
    const pay = { type: 'tool_use', id: 'pay', name: 'pay', input: { euros: 5 } } as const
    const { store, chat, turn } = await scene([{ content: [pay] }, yes])
    const about = () => store.catalogue.about('c')
    expect(await about()).toMatchObject({ status: 'working', last: 0, indexed: 0 })
    const run = { pay: { run: () => 'paid', approve: true } }
    const tools = [{ name: 'pay', input_schema: { type: 'object' } }]
    await turn({ run, tools })
    expect(await about()).toMatchObject({ status: 'needs-approval', waitsFor: ['pay'] })
    expect((await store.catalogue.find({ status: ['needs-approval'] })).items).toMatchObject([{ id: 'c' }])
    expect((await store.catalogue.find({ status: ['idle', 'working'] })).items).toEqual([])
    await chat.approve('pay', { by: 'ann' })
    expect(await about()).toMatchObject({ status: 'working' })
    await turn({ run, tools })
    expect(await about()).toMatchObject({ status: 'idle' })
    expect((await about()).waitsFor).toBeUndefined()
    await chat.append(says('And now?'))
    await chat.rewind({ turns: 1 })
    expect(await about()).toMatchObject({ status: 'idle' })
  })

  test('do not count as working after a quarter of an hour', async () => {
    const store = await opened()
    const line = { type: 'user', uuid: 'u', parentUuid: null, sessionId: 's', message: says('Is it there?') }
    const text = (timestamp: string): string => `${JSON.stringify({ ...line, timestamp })}\n`
    await store.importSession({ file: 'old.jsonl', text: text('2026-01-01T00:00:00.000Z') })
    expect((await store.catalogue.find()).items).toMatchObject([{ status: 'idle' }])
    await store.conversation('s').erase({ by: 'ann' })
    expect((await store.catalogue.find()).items).toMatchObject([{ status: 'idle' }])
    await store.conversation('new').append(says(now()))
    const { counts } = await store.catalogue.find()
    expect(counts?.status).toMatchObject({ idle: 1, working: 1 })
  })

  test('say that a price is missing', async () => {
    const store = await opened()
    await store.conversation('a').append([says('One'), replies('Two', 'unheard-of')])
    const [row] = (await store.catalogue.find()).items
    expect(row).toMatchObject({ isCostPartial: true, model: 'unheard-of' })
    expect(row?.cost).toBeUndefined()
  })
})
