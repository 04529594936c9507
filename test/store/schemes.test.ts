import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import { copyConversations, type EventStore, openStore, registerStore } from 'palimpsest'
import * as fp from 'palimpsest/fp'
import { memoryStore } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { diagnose } from '../../src/api/schemes.ts'
import { left, right } from '../support/either.ts'
import { node } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'Hello.' } as const
const model = {
  call: async () =>
    E.right({
      content: [{ type: 'text' as const, text: 'Hi.' }],
      origin: { model: 'm', stopReason: 'end_turn' },
    }),
  countTokens: async () => E.right(5),
}

/** A scheme that no other test uses. */
let schemes = 0
const newScheme = (): string => `test-${++schemes}`
const opening =
  (store: EventStore): fp.OpenEventStore =>
  () =>
  async () =>
    E.right(store)

describe('a store of one’s own', () => {
  test('has what every store has: conversations, turns, imports and copies', async () => {
    const [own, other] = [memoryStore(), memoryStore()]
    const store = await openStore(own, { actor: { kind: 'test' } })
    const chat = store.conversation('a')
    await chat.append(hello)
    expect(await chat.turn({ client: model, model: 'm' })).toMatchObject({ content: [{ text: 'Hi.' }] })
    const text = JSON.stringify([hello])
    expect((await store.importSession({ text, file: 'f.json', id: 'b' })).conversations).toHaveLength(1)
    const copied = await copyConversations({ from: own, to: other })
    expect(copied.map(({ id, error }) => [id, error])).toEqual([
      ['a', undefined],
      ['b', undefined],
    ])
    // A copy leaves open what it did not open.
    expect(await (await openStore(other)).conversation('a').position()).toBe(await chat.position())
    await store.close()
    expect(left(await own.keptEnd('x')())).toMatchObject({ _tag: 'StoreClosed' })
  })

  test.each<[string, (store: EventStore) => unknown]>([
    ['store', () => 5],
    ['store.append', () => ({})],
    ['store.follow', (store) => ({ ...store, follow: undefined })],
    ['store.blobs.list', (store) => ({ ...store, blobs: { ...store.blobs, list: 5 } })],
    ['store.blobs.put', (store) => ({ ...store, blobs: {} })],
    ['store.find', (store) => ({ ...store, find: 5 })],
    ['store.maxAppendBytes', (store) => ({ ...store, blobs: undefined, maxAppendBytes: 5 })],
    ['store.url', (store) => ({ ...store, url: undefined })],
    ['store.maxAppendBytes', (store) => ({ ...store, maxAppendBytes: '5' })],
  ])('that lacks %s is InvalidInput, which names it', async (path, made) => {
    const store = made(memoryStore()) as EventStore
    await expect(openStore(store)).rejects.toMatchObject({ _tag: 'InvalidInput', path })
    const scheme = newScheme()
    registerStore(scheme, opening(store))
    await expect(openStore(`${scheme}:`)).rejects.toMatchObject({ _tag: 'InvalidInput', path })
  })
})

describe('a scheme of one’s own', () => {
  test('opens by its URLs wherever a URL is taken', async () => {
    const scheme = newScheme()
    const asked: unknown[] = []
    const stores = new Map<string, EventStore>()
    registerStore(scheme, (url, { create }) => async () => {
      asked.push([url, create])
      const message = 'there is no such store'
      if (!create && !stores.has(url)) return E.left({ _tag: 'StoreNotFound', message, store: url })
      const store = stores.get(url) ?? { ...memoryStore(), close: () => async () => E.right(undefined) }
      stores.set(url, store)
      return E.right(store)
    })
    const [one, two] = [`${scheme}:one`, `${scheme}:two`]
    const store = await openStore(one)
    await store.conversation('a').append(hello)
    const [copied] = await copyConversations({ from: one, to: two })
    expect(copied).toEqual({ id: 'a', events: 1, added: 1 })
    const again = right(await fp.openStore(two, { create: false })())
    expect(right(await again.conversation('a').position()())).toBe(0)
    // The target of a copy is looked for whenever it is read, as somebody may have created it, and is created by the first write to it.
    expect(asked).toEqual([
      [one, true],
      [one, false],
      [two, false],
      [two, false],
      [two, false],
      [two, false],
      // It may be sealed with keys that this process does not have.
      [two, false],
      [two, true],
      [two, false],
    ])
  })

  test('is diagnosed by its own function, else by opening it', async () => {
    const finding = { check: 'disk', status: 'warning', message: 'nearly full' } as const
    const [own, plain, broken] = [newScheme(), newScheme(), newScheme()]
    registerStore(own, opening(memoryStore()), () => async () => E.right([finding]))
    expect(right(await diagnose(`${own}:`)())).toEqual([finding])

    const damage = { _tag: 'StoreCorrupt', message: 'page 3 is damaged', store: 'x' } as const
    registerStore(
      plain,
      () => async () => E.right({ ...memoryStore(), integrity: () => async () => E.left(damage) }),
    )
    expect(right(await diagnose(`${plain}:`)())).toMatchObject([
      { check: 'connection', status: 'ok' },
      { check: 'integrity', status: 'problem', message: 'page 3 is damaged' },
    ])

    const away = { _tag: 'StoreUnavailable', message: 'nobody answers', store: 'x' } as const
    registerStore(broken, () => async () => E.left(away))
    expect(right(await diagnose(`${broken}:`)())).toEqual([
      { check: 'connection', status: 'problem', message: 'nobody answers' },
    ])
  })

  test('may be registered again by the same function, not by another', () => {
    const scheme = newScheme()
    const open = opening(memoryStore())
    registerStore(scheme, open)
    registerStore(scheme, open)
    expect(() => registerStore(scheme, opening(memoryStore()))).toThrow(
      expect.objectContaining({ _tag: 'SchemeTaken', scheme }),
    )
  })

  test.each([
    'memory',
    'sqlite',
    'esdb',
    'esdb+discover',
    'kurrentdb',
    'kurrentdb+discover',
    'postgres',
    'postgresql',
  ])('cannot be %s, which is the library’s', (scheme) => {
    expect(left(fp.registerStore(scheme, opening(memoryStore())))).toMatchObject({
      _tag: 'SchemeTaken',
      scheme,
    })
  })

  test.each(['', 'c', 'Postgres', '1st', 'a b', 'a:', 'a/b', undefined, 5, null])(
    'cannot be %j, which is no name of a scheme',
    (scheme) => {
      const done = fp.registerStore(scheme as string, opening(memoryStore()))
      expect(left(done)).toMatchObject({ _tag: 'InvalidInput', path: 'scheme' })
    },
  )

  test('needs a function that opens', () => {
    expect(left(fp.registerStore(newScheme(), 5 as never))).toMatchObject({ path: 'open' })
    expect(left(fp.registerStore(newScheme(), opening(memoryStore()), 5 as never))).toMatchObject({
      path: 'diagnose',
    })
  })

  test('that nobody has registered is an error that lists those that are', async () => {
    const scheme = newScheme()
    registerStore(scheme, opening(memoryStore()))
    const error = {
      _tag: 'UnknownScheme',
      scheme: 'nobodys',
      registered: expect.arrayContaining(['esdb', 'memory', 'sqlite', scheme]),
    }
    await expect(openStore('nobodys://dana:s3cret@host')).rejects.toMatchObject(error)
    await expect(openStore('nobodys://dana:s3cret@host')).rejects.not.toThrow('s3cret')
    await expect(copyConversations({ from: 'memory:', to: 'nobodys:' })).rejects.toMatchObject(error)
    expect(left(await diagnose('nobodys:')())).toMatchObject(error)
  })

  test('is known to every copy of the library in the process', () => {
    const folder = temporaryFolder()
    const source = fileURLToPath(new URL('../../src', import.meta.url))
    const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
    for (const copy of ['a', 'b']) {
      mkdirSync(join(folder, copy))
      cpSync(source, join(folder, copy, 'src'), { recursive: true })
    }
    symlinkSync(modules, join(folder, 'node_modules'))
    const program = `
      const a = await import('./a/src/index.ts')
      const b = await import('./b/src/index.ts')
      const { memoryStore } = await import('./a/src/testing/index.ts')
      a.registerStore('ours', () => async () => ({ _tag: 'Right', right: memoryStore() }))
      const store = await b.openStore('ours:')
      await store.conversation('c').append({ role: 'user', content: 'x' })
      console.log(a.openStore !== b.openStore, await store.conversation('c').position())
    `
    const printed = execFileSync(node, ['--input-type=module', '-e', program], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(printed).toBe('true 0\n')
  })
})
