import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { type KeyStore, openStore, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { BlobStore, EventStore } from '../../../src/store/port.ts'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import { sealWith } from '../../../src/store/seal/open-keys.ts'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { ownKeys } from '../../support/own-keys.ts'
import { patient, temporaryFolder, temporaryServer } from '../../support/stores.ts'

const user = (content: string) => ({ role: 'user' as const, content })
const large = (word: string): string => `${word} `.repeat(1_000)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hour = 60 * 60 * 1000

/** Returns keys of each kind; a second call opens the same ones, as another process does. */
const kinds: Readonly<Record<string, () => () => KeyStore>> = {
  'a file': () => {
    const file = join(temporaryFolder(), 'keys.db')
    return () => {
      const keys = keyFile(file)
      atEnd(keys.close)
      return keys
    }
  },
  'a folder': () => {
    const folder = `${temporaryFolder()}/keys/`
    return () => keyFolder(folder)
  },
  'a store of their own': () => {
    const rows = new Map<string, string>()
    return () => ownKeys(rows)
  },
}

type Step = <A>(work: () => Promise<A>) => Promise<A>

/** Keys and blobs that take each step through a function. */
const stepwise = (inner: EventStore, keys: KeyStore, step: Step): [EventStore, KeyStore] => {
  const { blobs } = inner
  const steps: Partial<BlobStore> = {
    put:
      (...given) =>
      () =>
        step(blobs.put(...given)),
    remove:
      (...given) =>
      () =>
        step(blobs.remove(...given)),
    info: (name) => () =>
      step(async () => right((await blobs.info?.(name)()) ?? E.right(undefined))).then(E.right),
  }
  return [
    { ...inner, blobs: { ...blobs, ...steps } },
    {
      ...keys,
      read: (id) => step(() => keys.read(id)),
      write: (...given) => step(() => keys.write(...given)),
    },
  ]
}

const sealed = async (inner: EventStore, keys: KeyStore, step?: Step): Promise<BlobStore> => {
  const [store, own] = step ? stepwise(inner, keys, step) : [inner, keys]
  return right(await sealWith(own)(store)()).blobs
}

const text = large('secret')
const name = sha256(text)
const put = (blobs: BlobStore) =>
  blobs.put(name, [Buffer.from(text.slice(0, 100)), Buffer.from(text.slice(100))])()
const read = async (blobs: BlobStore): Promise<string> => {
  const pieces: Uint8Array[] = []
  for await (const piece of blobs.get(name)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
/** Reports whether the content is read whole. A comparison of texts this long would fill the report. */
const isRead = async (blobs: BlobStore): Promise<boolean> => (await read(blobs)) === text
const listed = async (blobs: BlobStore): Promise<number> => {
  let count = 0
  for await (const _ of blobs.list()) count++
  return count
}
/** Waits until the clock shows a later time. */
const later = async (): Promise<Date> => {
  for (const start = Date.now(); Date.now() <= start;) await new Promise((resolve) => setTimeout(resolve, 1))
  return new Date()
}
const lost = new Error('the power is gone')

describe.each(Object.entries(kinds))('large content with keys in %s', (_, kind) => {
  it('has a key of its own, written once, and destroyed when it is removed', async () => {
    const open = kind()
    const inner = memoryStore()
    const writes: string[] = []
    const keys = open()
    const counted: KeyStore = { ...keys, write: (id, ...rest) => (writes.push(id), keys.write(id, ...rest)) }
    const blobs = await sealed(inner, counted)
    const other = large('other')
    right(await blobs.put(sha256(other), [Buffer.from(other)])())
    writes.length = 0
    right(await put(blobs))
    right(await put(blobs))
    expect(writes).toEqual([expect.stringMatching(/^blob-[0-9a-f]{64}$/)])
    const copies: (readonly [string, Uint8Array[]])[] = []
    for await (const { sha256: own } of inner.blobs.list()) {
      const pieces: Uint8Array[] = []
      for await (const piece of inner.blobs.get(own)) pieces.push(piece)
      copies.push([own, pieces])
    }
    right(await blobs.remove(name, await later())())
    expect(await listed(inner.blobs)).toBe(1)
    for (const [own, pieces] of copies) right(await inner.blobs.put(own, pieces)())
    const again = await sealed(inner, open())
    expect(await read(again)).toBe('')
    expect(right((await again.whyAbsent?.(name)()) ?? E.left('no reason'))).toMatch(/^was erased on 2/)
    // Put again, it does not take what is left of the former one.
    right(await put(again))
    expect(await isRead(blobs)).toBe(true)
    right(await again.remove(name, await later())())
    expect(await listed(inner.blobs)).toBe(1)
  })

  it('is readable after each step at which a put ends, and the next put succeeds', async () => {
    for (const when of ['before', 'after'])
      for (const isThere of [false, true])
        for (let fatal = 0, isDone = false; !isDone; fatal++) {
          const open = kind()
          const inner = memoryStore()
          if (isThere) right(await put(await sealed(inner, open())))
          let steps = -Infinity
          const dying = await sealed(inner, open(), async (work) => {
            const isFatal = steps++ === fatal
            if (isFatal && when === 'before') throw lost
            const done = await work()
            if (isFatal) throw lost
            return done
          })
          steps = 0
          const outcome = await put(dying).catch(E.left)
          isDone = E.isRight(outcome)
          const blobs = await sealed(inner, open())
          if (isThere || isDone) expect(await isRead(blobs)).toBe(true)
          right(await put(blobs))
          expect(await isRead(blobs)).toBe(true)
        }
  })

  it('is gone once a removal is repeated that ended at any step', async () => {
    for (const when of ['before', 'after'])
      for (let fatal = 0, isDone = false; !isDone; fatal++) {
        const open = kind()
        const inner = memoryStore()
        right(await put(await sealed(inner, open())))
        const before = await later()
        let steps = -Infinity
        const dying = await sealed(inner, open(), async (work) => {
          const isFatal = steps++ === fatal
          if (isFatal && when === 'before') throw lost
          const done = await work()
          if (isFatal) throw lost
          return done
        })
        steps = 0
        isDone = E.isRight(await dying.remove(name, before)().catch(E.left))
        const blobs = await sealed(inner, open())
        // As long as it is stored, it is listed, so that whoever repeats the removal finds it.
        const isListed = (await listed(blobs)) === 1
        if (!isListed) expect(right((await blobs.whyAbsent?.(name)()) ?? E.left(''))).toContain('was erased')
        right(await blobs.remove(name, before)())
        expect(await listed(inner.blobs)).toBe(0)
        expect(right((await blobs.whyAbsent?.(name)()) ?? E.left(''))).toContain('was erased')
      }
  })

  it('stays if it is put at any step of a removal, or removed at any step of a put', async () => {
    for (const isPutInside of [true, false])
      for (let at = 0, isDone = false; !isDone; at++) {
        const open = kind()
        const inner = memoryStore()
        right(await put(await sealed(inner, open())))
        const before = await later()
        const other = await sealed(inner, open())
        let steps = Infinity
        const interrupted = await sealed(inner, open(), async (work) => {
          if (steps-- === 0) right(await (isPutInside ? put(other) : other.remove(name, before)()))
          return work()
        })
        steps = at
        right(await (isPutInside ? interrupted.remove(name, before)() : put(interrupted)))
        isDone = steps >= 0
        if (isDone && isPutInside) continue
        expect(await isRead(other)).toBe(true)
        expect(await listed(inner.blobs)).toBe(1)
      }
  })

  it('stays if several put and remove it at once', async () => {
    const open = kind()
    const inner = memoryStore()
    for (let round = 0; round < 5; round++) {
      right(await put(await sealed(inner, open())))
      const before = await later()
      const all = await Promise.all(Array.from({ length: 4 }, () => sealed(inner, open())))
      const outcomes = await Promise.all(
        all.flatMap((blobs) => [blobs.remove(name, before)(), put(blobs), blobs.remove(name, before)()]),
      )
      for (const outcome of outcomes) right(outcome)
      for (const blobs of all) expect(await isRead(blobs)).toBe(true)
    }
  })
})

const opened = async (...given: Parameters<typeof openStore>): Promise<Store> => {
  const store = await openStore(...given)
  atEnd(store.close)
  return store
}
const textsOf = async (store: Store, id: string): Promise<readonly unknown[]> =>
  (await store.conversation(id).effective()).map((item) =>
    item.kind === 'message' ? item.content[0]?.['text'] : item.kind,
  )
/** Makes what is stored look old enough to be removed. */
const settled = async <A>(work: () => Promise<A>): Promise<A> => {
  const now = Date.now
  Date.now = () => now() + hour
  try {
    return await work()
  } finally {
    Date.now = now
  }
}

describe('a copy of a sealed store from before an erasure', () => {
  it('shows the content of others, and none that was erased, with the keys of afterwards', async () => {
    const folder = temporaryFolder()
    const [file, copy, seal] = ['store.db', 'copy.db', 'keys.db'].map((one) => join(folder, one)) as [
      string,
      string,
      string,
    ]
    const store = await openStore(`sqlite:${file}`, { seal, largeContent: 1_024 })
    await store.conversation('a').append([user(text), user(large('shared'))])
    await store.conversation('b').append([user(large('shared')), user(large('kept'))])
    await store.backup(copy)
    expect(await settled(() => store.conversation('a').erase({ by: 'ann' }))).toMatchObject({ contents: 1 })
    await store.close()
    const old = await opened(`sqlite:${copy}`, { seal })
    expect(await textsOf(old, 'b')).toEqual([large('shared'), large('kept')])
    expect(JSON.stringify(await textsOf(old, 'a'))).not.toContain('secret')
    expect((await old.conversation('b').verify()).discrepancy).toBeUndefined()
    expect((await old.conversation('a').verify()).discrepancy).toMatchObject({ kind: 'older' })
    const pieces: Uint8Array[] = []
    for await (const piece of old.blob(name)) pieces.push(piece)
    expect(pieces).toEqual([])
    // The last conversation that shares a content takes its key with it.
    const now = await opened(`sqlite:${file}`, { seal })
    expect(await settled(() => now.conversation('b').erase({ by: 'ann' }))).toMatchObject({ contents: 2 })
    for await (const _ of old.blob(sha256(large('shared')))) throw new Error('it opens')
  })

  it('says of content that was erased since that it was erased', async () => {
    const folder = temporaryFolder()
    const seal = join(folder, 'keys.db')
    const [file, older] = [join(folder, 'store.db'), join(folder, 'older.db')]
    const store = await openStore(`sqlite:${file}`, { seal, largeContent: 1_024 })
    await store.conversation('a').append(user(text))
    await store.backup(older)
    await store.conversation('b').append([user('First.'), user(text)])
    await store.close()
    const restored = await opened(`sqlite:${older}`, { seal })
    await settled(() => restored.conversation('a').erase({ by: 'ann' }))
    const newer = await opened(`sqlite:${file}`, { seal })
    await expect(newer.conversation('b').effective()).rejects.toMatchObject({
      _tag: 'BlobMissing',
      message: expect.stringContaining('was erased on') as string,
    })
    expect((await newer.conversation('b').verify()).discrepancy).toMatchObject({
      position: 1,
      message: expect.stringContaining('was erased on') as string,
    })
    // Whoever stores the content again can read it.
    await newer.conversation('c').append(user(text))
    expect(await textsOf(newer, 'c')).toEqual([text])
  })
})

describe('large content in EventStoreDB', () => {
  it('that was removed, but not scavenged, opens no more', async () => {
    const { url } = await temporaryServer()
    const folder = `${temporaryFolder()}/`
    const store = await opened(url + patient, { seal: folder, largeContent: 1_024 })
    await store.conversation('a').append(user(text))
    const before = new Map<string, string>()
    const keys = keyFolder(folder)
    const watched: KeyStore = {
      ...keys,
      write: async (id, next, former) => {
        if (id.startsWith('blob-')) before.set(id, next)
        return keys.write(id, next, former)
      },
    }
    const erasing = await opened(url + patient, { seal: watched })
    expect(await settled(() => erasing.conversation('a').erase({ by: 'ann' }))).toMatchObject({ contents: 1 })
    expect([...before.values()].map((one) => JSON.parse(one) as object)).toEqual([
      { palimpsest: 'blob key 1', number: 0, erased: expect.any(String) as string },
    ])
  })
})

describe('an erasure that could not empty the log of a key file', () => {
  it('leaves no key there once it is repeated', async () => {
    const [folder, file] = [temporaryFolder(), join(temporaryFolder(), 'keys.db')]
    const keys = keyFile(file)
    const reader = new DatabaseSync(file)
    atEnd(() => reader.close())
    const removed = new Set<string>()
    const whileRead: KeyStore = {
      ...keys,
      write: async (id, next, former) => {
        const isDestroyed = /"erased":\["/.test(next)
        if (isDestroyed) {
          for (const key of former?.match(/[\w-]{43}(?=")/g) ?? []) if (!next.includes(key)) removed.add(key)
          reader.exec('BEGIN')
          reader.prepare('SELECT * FROM keys').all()
        }
        return keys.write(id, next, former)
      },
    }
    const store = await opened(`sqlite:${join(folder, 'store.db')}`, { seal: whileRead })
    await store.conversation('a').append([user('One.'), user('Two.')])
    await expect(store.conversation('a').erase({ by: 'ann' })).rejects.toMatchObject({
      _tag: 'StoreUnavailable',
      message: expect.stringContaining('repeat the command') as string,
    })
    reader.exec('COMMIT')
    const left = (): readonly string[] =>
      [file, `${file}-wal`].flatMap((one) => {
        const bytes = readFileSync(one, 'latin1')
        return [...removed].filter((key) => bytes.includes(key))
      })
    expect(left().length).toBeGreaterThan(0)
    await store.conversation('a').erase({ by: 'ann' })
    expect(left()).toEqual([])
    expect(await store.conversation('a').verify()).toMatchObject({ erased: 2 })
  })
})

describe('gc', () => {
  it('destroys the key of content that no event refers to', async () => {
    const rows = new Map<string, string>()
    const inner = memoryStore()
    const failing: EventStore = {
      ...inner,
      append: (request) =>
        request.stream === 'conversation-b'
          ? async () => E.left({ _tag: 'StoreFull', message: 'full', store: '' } as const)
          : inner.append(request),
    }
    const store = await opened(failing, { seal: ownKeys(rows), largeContent: 1_024 })
    await store.conversation('a').append(user(large('kept')))
    await expect(store.conversation('b').append(user(text))).rejects.toThrow('full')
    const live = async (): Promise<number> => {
      let count = 0
      for (const id of rows.keys()) if ((await ownKeys(rows).read(id))?.includes('"key":"')) count++
      return count
    }
    expect(await live()).toBe(2)
    expect(await store.gc({ olderThan: await later() })).toMatchObject({ blobs: 2, removed: 1 })
    expect(await live()).toBe(1)
    expect(await textsOf(store, 'a')).toEqual([large('kept')])
  })
})

describe('an older copy of the keys', () => {
  it('does not open content that is newer, says so, and content that is stored again opens', async () => {
    const rows = new Map<string, string>()
    const inner = memoryStore()
    const store = await opened(inner, { seal: ownKeys(rows), largeContent: 1_024 })
    await store.conversation('a').append(user('First.'))
    const older = new Map(rows)
    await store.conversation('a').append(user(text))
    const restored = await opened(inner, { seal: ownKeys(older), largeContent: 1_024 })
    await expect(restored.conversation('a').effective()).rejects.toMatchObject({
      _tag: 'BlobMissing',
      message: expect.stringContaining('restore the newest copy of the keys') as string,
    })
    await restored.conversation('b').append(user(text))
    expect(await textsOf(restored, 'b')).toEqual([text])
    expect(await textsOf(restored, 'a')).toEqual(['First.', text])
  })
})

describe('large content of which a byte was changed', () => {
  it('is reported as damaged', async () => {
    const inner = (await openSqlite(`sqlite:${join(temporaryFolder(), 'store.db')}`)()) as E.Right<EventStore>
    const blobs = inner.right.blobs
    const changing: EventStore = {
      ...inner.right,
      blobs: {
        ...blobs,
        get: async function* (own) {
          for await (const piece of blobs.get(own))
            yield piece.map((byte, at) => (at === 200 ? byte ^ 1 : byte))
        },
      },
    }
    const store = await opened(changing, { seal: ownKeys(), largeContent: 1_024 })
    await store.conversation('a').append(user(text))
    await expect(store.conversation('a').effective()).rejects.toMatchObject({ _tag: 'BlobDamaged' })
  })
})
