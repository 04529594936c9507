import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'

// What goes wrong at the edges: found by trying, kept so that it stays mended.

const hello = { role: 'user', content: 'x' } as const
const opened = async (url = 'memory:', kind = 'program'): Promise<Store> => {
  const store = await openStore(url, { actor: { kind } })
  atEnd(store.close)
  return store
}
const file = (): string => join(temporaryFolder(), 'store.db')

describe('two writers with one command id', () => {
  test('write one event, and the one who came second chains on to what the first wrote', async () => {
    const url = `sqlite:${file()}`
    const [a, b] = [(await opened(url, 'a')).conversation('c'), (await opened(url, 'b')).conversation('c')]
    await a.append(hello)
    await Promise.all([a, b].map((chat) => chat.append(hello, { commandId: 'k' })))
    await b.append(hello)
    await a.append(hello)
    expect(await a.verify()).toEqual({ conversation: 'c', events: 4 })
  })

  test('a repeated command of more events than a page answers as the first time', async () => {
    const chat = (await opened()).conversation('c')
    const many = Array.from({ length: 2_500 }, () => hello)
    const first = await chat.append(many, { commandId: 'k' })
    expect(first.position).toBe(2_499)
    expect(await chat.append(many, { commandId: 'k' })).toEqual(first)
  })

  test('two imports of one file at the same time leave one chain', async () => {
    const url = `sqlite:${file()}`
    const stores = [await opened(url), await opened(url)]
    const text = JSON.stringify(
      Array.from({ length: 1_800 }, (_, n) => ({ role: n % 2 ? 'assistant' : 'user', content: `${n}` })),
    )
    await Promise.all(stores.map((store) => store.importSession({ text, file: 'f.json', id: 'c' })))
    expect(await stores[0]?.conversation('c').verify()).toEqual({ conversation: 'c', events: 1_800 })
  })
})

describe('what is written can be read', () => {
  test.each([
    ['a reserved key', { ...hello, sealed: true }, {}],
    ['a time beyond the year 9999', hello, { now: new Date(8.64e15) }],
    ['an actor that is no JSON', hello, { actor: { kind: 'a', n: 1n } }],
    ['an actor that writes itself as something else', hello, { actor: { kind: 'a', toJSON: () => 5 } }],
    [
      'a block of no known prototype',
      { role: 'user', content: [Object.create(Object.create(Object.create(null)))] },
      {},
    ],
  ])('%s is refused, and the conversation goes on', async (_, message, options) => {
    const chat = (await opened()).conversation('c')
    await chat.append(hello)
    await expect(chat.append(message as never, options as never)).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    expect(await chat.append(hello)).toMatchObject({ position: 1 })
    expect(await chat.effective()).toHaveLength(2)
  })

  test('more text than a string of JSON can hold is EventTooLarge, and the conversation goes on', async () => {
    const chat = (await opened()).conversation('c')
    const huge = { role: 'user', content: '\u0001'.repeat(95_000_000) } as const
    await expect(chat.append(huge)).rejects.toMatchObject({ _tag: 'EventTooLarge' })
    expect(await chat.append(hello)).toMatchObject({ position: 0 })
  })

  test('one conversation that is damaged hides none of the others', async () => {
    const path = file()
    const store = await opened(`sqlite:${path}`)
    for (const id of ['a', 'b', 'c']) await store.conversation(id).append([hello, hello])
    const db = new DatabaseSync(path)
    db.exec(`UPDATE events SET data = '{"role":"nobody","content":[]}' WHERE stream = 2 AND revision = 1`)
    db.close()
    const all = []
    for await (const { id, problem } of store.conversations()) all.push([id, problem !== undefined])
    expect(all).toEqual([
      ['c', false],
      ['b', true],
      ['a', false],
    ])
    expect(await store.conversation('b').verify()).toMatchObject({
      discrepancy: { position: 1, kind: 'undecodable' },
    })
  })
})

describe('mistakes of plain JavaScript are typed errors', () => {
  test.each<[string, (store: Store) => unknown]>([
    ['openStore()', () => openStore(undefined as never)],
    ['openStore(url, null)', () => openStore('memory:', null as never)],
    ['append(message, 5)', (store) => store.conversation('c').append(hello, 5 as never)],
    ['rewind()', (store) => store.conversation('c').rewind(undefined as never)],
    ['undo(null)', (store) => store.conversation('c').undo(null as never)],
    ['effective(null)', (store) => store.conversation('c').effective(null as never)],
    ['diff()', (store) => store.conversation('c').diff(undefined as never)],
    ['diff({})', (store) => store.conversation('c').diff({} as never)],
    ['importSession({})', (store) => store.importSession({} as never)],
  ])('%s', async (_, mistake) => {
    const store = await opened()
    await store.conversation('c').append(hello)
    await expect(Promise.resolve().then(() => mistake(store))).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  test('the innermost mistake is named', async () => {
    const chat = (await opened()).conversation('c')
    const untyped = { role: 'user', content: [{ text: 's' }] } as never
    await expect(chat.append(untyped)).rejects.toMatchObject({ path: 'messages[0].content[0].type' })
    await chat.append([hello, hello, hello])
    const summary = [{ role: 'user', content: 'in short' }] as const
    await chat.condense({ summary, covers: { first: 1, last: 1 } })
    expect((await chat.effective())[1]).toMatchObject({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'in short' }] }],
    })
  })

  test('an aborted signal ends the events, wherever they are', async () => {
    const chat = (await opened()).conversation('c')
    await chat.append(Array.from({ length: 500 }, () => hello))
    let seen = 0
    for await (const _ of chat.events({ follow: true, signal: AbortSignal.abort() })) seen++
    expect(seen).toBe(0)
  })
})

describe('an import', () => {
  const session = (n: number): { readonly text: string; readonly file: string; readonly id: string } => ({
    text: Array.from({ length: n }, (_, index) => {
      const parentUuid = index === 0 ? null : `u${index - 1}`
      const role = index % 2 === 0 ? 'user' : 'assistant'
      const entry = {
        type: role,
        uuid: `u${index}`,
        parentUuid,
        sessionId: 's',
        message: { role, content: `m${index}` },
      }
      return JSON.stringify(entry)
    }).join('\n'),
    file: 's.jsonl',
    id: 'c',
  })

  test('of a grown file is refused where the conversation has been changed, until the change is taken back', async () => {
    const store = await opened()
    const chat = store.conversation('c')
    await store.importSession(session(4))
    await chat.rewind({ to: 1 })
    await expect(store.importSession(session(8))).rejects.toMatchObject({
      _tag: 'ImportDiverged',
      conversation: 'c',
    })
    await chat.undo()
    const { position: marker } = await chat.truncate({ covers: { first: 1, last: 2 } })
    await expect(store.importSession(session(8))).rejects.toMatchObject({ _tag: 'ImportDiverged' })
    await chat.restore({ marker })
    expect((await store.importSession(session(8))).conversations).toMatchObject([{ added: 4 }])
    await chat.append(hello)
    await expect(store.importSession(session(9))).rejects.toMatchObject({ _tag: 'ImportDiverged' })
    expect((await store.importSession(session(8))).conversations).toMatchObject([{ added: 0 }])
  })

  test('is of what was given when it was asked for', async () => {
    const store = await opened()
    const given = { ...session(4) }
    const importing = store.importSession(given)
    given.text = ''
    expect((await importing).conversations).toMatchObject([{ id: 'c', added: 4 }])
  })

  test('of a file that holds nothing of its format says so', async () => {
    const store = await opened()
    await expect(
      store.importSession({ text: session(3).text, file: 'f', format: 'pi' }),
    ).rejects.toMatchObject({ _tag: 'UnknownFormat' })
    await expect(store.importSession({ text: '', file: 'f', format: 'claude-code' })).rejects.toMatchObject({
      _tag: 'UnknownFormat',
    })
  })

  test('of a fork without its parent is refused', async () => {
    const [from, to] = [await opened(), await opened()]
    const chat = from.conversation('p')
    await chat.append(hello)
    const fork = await chat.fork('f')
    const lines: string[] = []
    for await (const { data, metadata, ...event } of fork.stored())
      lines.push(
        JSON.stringify({
          ...event,
          data: JSON.parse(data) as unknown,
          metadata: JSON.parse(metadata) as unknown,
        }),
      )
    const orphan = { text: lines.slice(-1).join('\n'), file: 'f.jsonl' }
    await expect(to.importSession(orphan)).rejects.toMatchObject({
      _tag: 'ConversationNotFound',
      conversation: 'p',
    })
    await to.importSession({ text: lines.join('\n'), file: 'f.jsonl' })
    expect(await to.conversation('f').verify()).toEqual({
      conversation: 'f',
      events: 1,
      inherited: { events: 1, from: 'p' },
    })
  })

  test('of a time that no event can have takes the time of the import', async () => {
    const store = await opened()
    const text = JSON.stringify([
      { role: 'user', content: [{ type: 'text', text: 'hi' }], ts: 1_770_000_000_000_000 },
    ])
    await store.importSession({ text, file: 'f.json', format: 'roo', id: 'c' })
    expect((await store.conversation('c').full())[0]?.time).toMatch(/^20/)
  })
})
