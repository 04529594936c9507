import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Conversation,
  copyConversations,
  type KeyStore,
  openStore,
  type Store,
} from '../../../src/index.ts'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import { newKeyFile } from '../../../src/audit.ts'
import { noPostgres } from '../../support/postgres/programs.ts'
import { postgresUrl } from '../../support/postgres/shared.ts'
import { temporaryFolder, temporaryServer, patient } from '../../support/stores.ts'
import { atEnd } from '../../support/at-end.ts'

const card = '4111-2222-3333-4444'
const user = (content: string) => ({ role: 'user' as const, content })
const assistant = (content: string) => ({ role: 'assistant' as const, content })

interface Scene {
  readonly folder: string
  readonly url: string
  readonly open: (options?: Parameters<typeof openStore>[1]) => Promise<Store>
}

const sqlite = async (): Promise<Scene> => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}?seal=${join(temporaryFolder(), 'keys.db')}`
  return sceneOf(folder, url)
}
const eventstoredb = async (): Promise<Scene> => {
  const { url } = await temporaryServer()
  return sceneOf(temporaryFolder(), `${url}${patient}&seal=${temporaryFolder()}/`)
}
const postgres = async (): Promise<Scene> =>
  sceneOf(temporaryFolder(), `${await postgresUrl()}&seal=${temporaryFolder()}/`)
const sceneOf = (folder: string, url: string): Scene => ({
  folder,
  url,
  open: async (options) => {
    const store = await openStore(url, options)
    atEnd(store.close)
    return store
  },
})

/** Reports whether any file of the store has the words. */
const isAnywhere = ({ folder }: Scene, words = card): boolean =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(words))

const all = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const some: A[] = []
  for await (const item of items) some.push(item)
  return some
}

const textsOf = async (chat: Conversation): Promise<readonly unknown[]> =>
  (await chat.effective()).map((item) => (item.kind === 'message' ? item.content[0]?.['text'] : item.kind))

/** A conversation with the card in every kind of place. */
const talked = async (store: Store): Promise<Conversation> => {
  const chat = store.conversation('a')
  await chat.configure({ system: `Remember ${card}.` })
  await chat.append([user(`My card is ${card}.`), assistant(`Noted: ${card}. `.repeat(500)), user('Thanks.')])
  await chat.note({ kind: 'title', data: `Card ${card}` })
  await chat.condense({ summary: `The card is ${card}.`, covers: { first: 1, last: 2 } })
  await chat.rewind({ to: 3, reason: `not ${card}` })
  return chat
}

const scenes: readonly (readonly [string, () => Promise<Scene>])[] = [
  ['SQLite', sqlite],
  ['EventStoreDB', eventstoredb],
  ...(noPostgres === undefined ? [['PostgreSQL', postgres] as const] : []),
]

describe.each(scenes)('a sealed store, %s', (_, scene) => {
  it('reads what was written, and a copy in the open is the same to the byte', async () => {
    const given = await scene()
    const store = await given.open({ largeContent: 1_024 })
    const chat = await talked(store)
    expect(await chat.verify()).toMatchObject({ events: 6, notes: 1 })
    expect(isAnywhere(given)).toBe(false)
    const again = (await given.open()).conversation('a')
    expect(await textsOf(again)).toEqual(await textsOf(chat))
    const copy = `sqlite:${join(temporaryFolder(), 'copy.db')}`
    await copyConversations({ from: given.url, to: copy })
    const open = await openStore(copy)
    atEnd(open.close)
    const [one, other] = [open.conversation('a').stored(), chat.stored()]
    expect(await all(one)).toEqual(await all(other))
    expect(await open.conversation('a').verify()).toMatchObject({ events: 6 })
  })

  it('is erased by destroying keys: a former copy of the store opens no more, and everything verifies', async () => {
    const given = await scene()
    const store = await given.open({ largeContent: 1_024 })
    const chat = await talked(store)
    const signer = await newKeyFile(join(temporaryFolder(), 'audit.key'))
    await store.audit.init({ signer })
    await store.audit.seal({ signer })
    const follower = (await given.open()).conversation('a')
    expect((await textsOf(follower)).at(0)).toContain(card)
    await chat.erase({ by: 'ann', reason: 'request 17' })
    expect(await chat.verify()).toMatchObject({ erased: 7, notes: 1 })
    const again = (await given.open()).conversation('a')
    expect(JSON.stringify(await all(again.events()))).not.toContain(card)
    expect(JSON.stringify(await again.notes())).not.toContain(card)
    expect((await all(store.audit.verify())).filter(({ type }) => type === 'problem')).toEqual([])
    await again.append(user('Hello again.'))
    expect((await textsOf(again)).at(-1)).toBe('Hello again.')
    expect(await again.verify()).toMatchObject({ erased: 7 })
    // It reads the record of the erasure, and forgets what it remembers.
    expect(JSON.stringify(await all(follower.events()))).not.toContain(card)
  })

  it('erases single events, and keeps the others', async () => {
    const given = await scene()
    const chat = await talked(await given.open())
    await chat.erase({ positions: [1], by: 'ann' })
    const again = (await given.open()).conversation('a')
    expect((await textsOf(again)).slice(-1)).toEqual(['Thanks.'])
    const events = await all(again.events())
    expect(events.map(({ metadata }) => metadata.erased !== undefined)).toEqual([
      false,
      true,
      ...Array<boolean>(5).fill(false),
    ])
    await again.erase({ positions: [2, 4], by: 'ann' })
    expect(await again.verify()).toMatchObject({ erased: 3 })
  })

  it('is erased after the process ended between the record and the destruction of the keys', async () => {
    const given = await scene()
    await talked(await given.open())
    const path = new URLSearchParams(given.url.slice(given.url.indexOf('?'))).get('seal') ?? ''
    let isBroken = false
    const keys = path.endsWith('/') ? keyFolder(path) : keyFile(path)
    const dying: KeyStore = {
      ...keys,
      write: async (id, text, before) => {
        if (isBroken && text.includes('"erased":["')) throw new Error('the power is gone')
        return keys.write(id, text, before)
      },
    }
    const store = await openStore(given.url, { seal: dying })
    atEnd(store.close)
    isBroken = true
    await expect(store.conversation('a').erase({ positions: [1], by: 'ann' })).rejects.toMatchObject({
      _tag: 'StoreUnavailable',
      message: expect.stringContaining('the power is gone') as string,
    })
    const again = (await given.open()).conversation('a')
    const [, erased] = await all(again.events())
    expect(erased?.metadata.erased).toBeDefined()
    expect(await again.verify()).toMatchObject({ erased: 1 })
  })

  it('is refused with other keys, and says so without any', async () => {
    const given = await scene()
    await talked(await given.open())
    const otherKeys = join(temporaryFolder(), 'other.db')
    await expect(openStore(given.url, { seal: otherKeys })).rejects.toMatchObject({
      _tag: 'StoreDenied',
      message: expect.stringContaining('there are no keys in') as string,
    })
    expect(existsSync(otherKeys)).toBe(false)
    const plain = await openStore(given.url.replace(/[?&]seal=.*/, ''))
    atEnd(plain.close)
    await expect(plain.conversation('a').effective()).rejects.toMatchObject({
      _tag: 'DecodeFailed',
      message: expect.stringContaining('seal=keys.db') as string,
    })
    // Nor is anything copied, in either direction.
    const without = given.url.replace(/[?&]seal=.*/, '')
    const folder = temporaryFolder()
    const other = `sqlite:${join(folder, 'other-store.db')}`
    for (const [from, to] of [
      [without, `sqlite:${join(folder, 'copy.db')}`],
      [other, without],
    ] as const) {
      if (from === other) await (await openStore(other)).close()
      await expect(copyConversations({ from, to })).rejects.toMatchObject({
        _tag: 'StoreDenied',
        message: expect.stringContaining('opened without its keys') as string,
      })
    }
    expect(readdirSync(folder).filter((name) => name.startsWith('copy'))).toEqual([])
    // Nor is anything sealed by a ledger, which would have another hash; nor is large content removed whose references cannot be read.
    const signer = await newKeyFile(join(folder, 'ledger.key'))
    await plain.audit.init({ signer })
    for (const refused of [
      () => plain.audit.seal({ signer }),
      () => all(plain.audit.verify()),
      () => plain.gc({ olderThan: new Date() }),
    ])
      await expect(refused()).rejects.toMatchObject({
        _tag: 'StoreDenied',
        message: expect.stringContaining('opened without its keys') as string,
      })
    // Nor is anything appended: it could not name the hash of the event before it.
    await expect(plain.conversation('a').append(user('Hello.'))).rejects.toMatchObject({
      _tag: 'DecodeFailed',
    })
  })

  it('begins no conversation in the open without its keys', async () => {
    const given = await scene()
    const url = given.url.replace(/[?&]seal=.*/, '')
    const open = { url, options: { largeContent: 1_024 } }
    const before = await openStore(open.url, open.options)
    atEnd(before.close)
    await before.conversation('old').append(user('In the open.'))
    await (await given.open()).conversation('sealed').append(user(card))
    const plain = await openStore(open.url, open.options)
    atEnd(plain.close)
    const refused = {
      _tag: 'StoreDenied',
      message: expect.stringContaining('opened without its keys: add them to its URL') as string,
    }
    const chat = plain.conversation('new')
    await expect(chat.append(user(card.repeat(500)))).rejects.toMatchObject(refused)
    await expect(chat.say(user(card))).rejects.toMatchObject(refused)
    await expect(plain.conversation('sealed').note({ kind: 'title', data: card })).rejects.toMatchObject({
      _tag: 'DecodeFailed',
    })
    const text = JSON.stringify({ messages: [user(card), assistant('Noted.')] })
    await expect(plain.importSession({ text, file: 'session.json', id: 'new' })).rejects.toMatchObject(
      refused,
    )
    expect(isAnywhere(given)).toBe(false)
    await expect(chat.position()).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    // Conversations in the open stay as they are.
    await plain.conversation('old').append(user('More.'))
    await plain.conversation('old').note({ kind: 'title', data: 'Old' })
    expect(await textsOf(plain.conversation('old'))).toEqual(['In the open.', 'More.'])
  })
})

describe('a store that is sealed later', () => {
  it('reads what it had before, and seals what comes', async () => {
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'store.db')}`
    const before = await openStore(url, { largeContent: 1_024 })
    await before.conversation('a').append([user('In the open.'), assistant('x'.repeat(5_000))])
    await before.close()
    const store = await openStore(url, { seal: join(folder, 'keys.db'), largeContent: 1_024 })
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append(user(card))
    expect((await textsOf(chat)).map((text) => String(text).length)).toEqual([12, 5_000, card.length])
    expect(isAnywhere({ folder, url, open: async () => store })).toBe(false)
    expect(await chat.verify()).toMatchObject({ events: 3 })
    await chat.erase({ by: 'ann' })
    expect(await chat.verify()).toMatchObject({ erased: 3 })
    await store.check()
  })
})

describe('an EventStoreDB that is sealed later', () => {
  it('erases nothing that was stored in the open', async () => {
    const { url } = await temporaryServer()
    const before = await openStore(url + patient)
    atEnd(before.close)
    await before.conversation('a').append(user(card))
    await expect(before.conversation('a').erase({ by: 'ann' })).rejects.toMatchObject({
      _tag: 'CannotErase',
      message: expect.stringContaining('?seal=') as string,
    })
    const store = await openStore(url + patient, { seal: `${temporaryFolder()}/` })
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append(user('More.'))
    await expect(chat.erase({ by: 'ann' })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringContaining('in the open') as string,
    })
    expect(await textsOf(chat)).toEqual([card, 'More.'])
    expect(await chat.erase({ positions: [1], by: 'ann' })).toMatchObject({ positions: [1] })
    expect(await chat.verify()).toMatchObject({ erased: 1 })
  })
})

describe('what is stored', () => {
  it('has no word of a conversation in any form, in any file', async () => {
    const given = await sqlite()
    const store = await given.open({ largeContent: 1_024 })
    await talked(store)
    expect((await store.catalogue.search('remember')).items.length).toBeGreaterThan(0)
    await store.close()
    const alignments = [0, 1, 2].map((skipped) => btoa(card.slice(skipped)).replaceAll('=', '').slice(0, -2))
    for (const form of [card, ...alignments])
      expect({ form, isAnywhere: isAnywhere(given, form) }).toEqual({ form, isAnywhere: false })
    // The index has words of conversations.
    expect(readdirSync(given.folder).filter((name) => name.includes('index'))).toEqual([])
  })

  it('opens with a copy of the keys, and what is erased does not open with the keys of afterwards', async () => {
    const given = await sqlite()
    const store = await given.open()
    await talked(store)
    await store.close()
    const [file, copy] = [join(given.folder, 'store.db'), join(given.folder, 'copy.db')]
    copyFileSync(file, copy)
    const erasing = await given.open()
    await erasing.conversation('a').erase({ positions: [1], by: 'ann' })
    await erasing.close()
    const keys = given.url.slice(given.url.indexOf('?'))
    const restored = await openStore(`sqlite:${copy}${keys}`)
    atEnd(restored.close)
    const [, first] = await all(restored.conversation('a').events())
    expect(JSON.stringify(first)).not.toContain(card)
  })
})
