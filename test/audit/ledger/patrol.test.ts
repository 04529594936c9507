import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, test } from 'vitest'
import {
  type AuditSummary,
  type AuditFinding,
  isError,
  openStore,
  type PatrolEvent,
  type PatrolOptions,
  type Store,
} from '../../../src/index.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { encodeFact } from '../../../src/audit/ledger/stored-facts.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { fileAnchor } from '../../../src/audit.ts'
import { right } from '../../support/either.ts'
import { atEnd } from '../../support/at-end.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { newSigner, say, storeOf } from './scene.ts'

const audited = async (store: Store, since?: string) => {
  const found: AuditFinding[] = []
  for await (const finding of store.audit.verify({ since })) found.push(finding)
  return {
    problems: found.flatMap((one) => (one.type === 'problem' ? [[one.kind, one.conversation]] : [])),
    done: found.at(-1) as AuditSummary,
  }
}

/** As another process sees it, which remembers nothing. */
const opened = async (file: string): Promise<Store> => {
  const store = await openStore(`sqlite:${file}`)
  atEnd(store.close)
  return store
}

/** A sealed store in a file, with conversations. */
const scene = async (conversations = ['a', 'b']) => {
  const file = join(temporaryFolder(), 'store.db')
  const store = await openStore(`sqlite:${file}`)
  const signer = await newSigner()
  await store.audit.init({ signer })
  await say(store, conversations)
  await store.audit.seal({ signer })
  // Then the file has where streams end, too.
  await store.close()
  return { store: await opened(file), signer, file }
}

/** Changes what was said, and nothing else. */
const altered = (file: string, conversation: string): void => {
  const db = new DatabaseSync(file)
  db.prepare(
    `UPDATE events SET data = replace(data, 'Hello', 'Jello') WHERE stream = (SELECT id FROM streams WHERE name = ?)`,
  ).run(`conversation-${conversation}`)
  db.close()
}

describe('an audit since another one', () => {
  // The stores are alike in what they say has changed (test/contract).
  it.each(['memory', 'sqlite'])('reads what was written or sealed after it (%s)', async (kind) => {
    const [store, signer] = [await storeOf(kind), await newSigner()]
    await store.audit.init({ signer })
    await say(store, ['a', 'b', 'c'])
    await store.audit.seal({ signer })
    const { done: first } = await audited(store)
    expect(first).toMatchObject({ conversations: 3, entries: 3 })
    expect((await audited(store, first.checkpoint)).done).toMatchObject({ conversations: 0, entries: 3 })
    await say(store, ['b'])
    await store.audit.seal({ signer })
    const { done, problems } = await audited(store, first.checkpoint)
    expect([done, problems]).toMatchObject([{ conversations: 1, events: 2, entries: 4 }, []])
    expect((await audited(store, done.checkpoint)).done).toMatchObject({ conversations: 0 })
  })

  it('notices what was altered since, and what was sealed since; the rest a whole one does', async () => {
    const { store, signer, file } = await scene()
    const { checkpoint } = (await audited(store)).done
    await say(store, ['b'])
    await store.audit.seal({ signer })
    for (const conversation of ['a', 'b']) altered(file, conversation)
    expect((await audited(store, checkpoint)).problems).toEqual([
      ['entry', 'b'],
      ['conversation', 'b'],
    ])
    expect(new Set((await audited(store)).problems.map(([, conversation]) => conversation))).toEqual(
      new Set(['a', 'b']),
    )
  })

  it('notices that the ledger has fewer entries than it had then, and takes no other text', async () => {
    const { store, signer } = await scene()
    const older = join(temporaryFolder(), 'older.db')
    await store.backup(older)
    await say(store, ['c'])
    await store.audit.seal({ signer })
    const { checkpoint } = (await audited(store)).done
    const restored = await openStore(`sqlite:${older}`)
    atEnd(restored.close)
    // The place is none of that store.
    const [entries] = checkpoint.split('@')
    expect((await audited(restored, `${entries}@`)).problems).toEqual([['ledger', undefined]])
    const error: unknown = await audited(store, 'yesterday').catch((thrown: unknown) => thrown)
    expect(isError(error, 'InvalidInput')).toBe(true)
  })
})

/** Patrols until so many rounds have ended or failed. */
const patrolled = async (store: Store, rounds: number, options: PatrolOptions = {}) => {
  const ending = new AbortController()
  const told: PatrolEvent[] = []
  await store.audit.patrol({
    every: 0,
    share: 1,
    ...options,
    signal: ending.signal,
    onEvent: (event) => {
      told.push(event)
      if (told.filter(({ type }) => type !== 'alarm').length === rounds) ending.abort()
    },
  })
  return told.map((event) => (event.type === 'alarm' ? event.problem.conversation : event.type))
}

describe('a patrol', () => {
  it('records each problem once, over rounds and restarts, and each round', async () => {
    const { store, file } = await scene()
    expect(await patrolled(store, 2)).toEqual(['round', 'round'])
    altered(file, 'a')
    expect(await patrolled(store, 2)).toEqual(['a', 'a', 'round', 'round'])
    altered(file, 'b')
    expect(await patrolled(store, 1)).toEqual(['b', 'b', 'round'])
    const { patrolled: last } = await store.audit.status()
    expect(last).toMatchObject({ conversations: 2, entries: 2, problems: 4 })
  })

  it('has no alarm for an anchor that no sealer has given anything yet, and status names the problems', async () => {
    const [store, signer] = [await storeOf('memory'), await newSigner()]
    const folder = join(temporaryFolder(), 'new')
    mkdirSync(folder)
    const anchors = [fileAnchor(folder)]
    await store.audit.init({ signer })
    expect(await patrolled(store, 1, { anchors })).toEqual(['round'])
    await say(store, ['a'])
    await store.audit.seal({ signer })
    expect(await patrolled(store, 1, { anchors })).toEqual(['round'])
    expect((await store.audit.status()).alarms).toBeUndefined()
    await store.audit.seal({ signer, anchors })
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    expect(await patrolled(store, 1, { anchors })).toEqual([undefined, 'round'])
    const { alarms } = await store.audit.status()
    expect(alarms).toMatchObject([
      { kind: 'anchor', message: expect.stringContaining('holds no checkpoint') as string },
    ])
  })

  it('waits until the next round is due, also after it was started anew', async () => {
    const { store } = await scene()
    await patrolled(store, 1)
    const ending = new AbortController()
    const events: string[] = []
    const waiting = store.audit.patrol({
      signal: ending.signal,
      onEvent: ({ type }) => events.push(type),
    })
    // It has read by then when the last round ended.
    await store.audit.status()
    ending.abort()
    await waiting
    expect(events).toEqual([])
  })

  it('waits however long it is told to', async () => {
    const { store } = await scene()
    const ending = new AbortController()
    let rounds = 0
    const options = { every: 2 ** 32, share: 1, signal: ending.signal, onEvent: () => void rounds++ }
    const patrolling = store.audit.patrol(options)
    await expect.poll(() => rounds).toBe(1)
    // A timer that overflows fires within a millisecond, and a round takes as long as an audit.
    for (let n = 0; n < 5; n++) await audited(store)
    ending.abort()
    await patrolling
    expect(rounds).toBe(1)
  })

  it('that is started again counts from the beginning of the last round, not from its end', async () => {
    const events = memoryStore()
    const hour = 3_600_000
    const data = {
      conversations: 0,
      events: 0,
      receipts: 0,
      withoutReceipt: 0,
      entries: 0,
      problems: 0,
      checkpoint: '0@',
      began: new Date(Date.now() - 2 * hour).toISOString(),
    }
    const recorded = right(encodeFact('patrol', { type: 'PatrolRound', data }, { kind: 'test' }))
    right(await events.append({ stream: 'patrol', events: [recorded], expected: -1, repeat: 'none' })())
    const store = promiseStore(taskStore(storeOn(events, { kind: 'test' })))
    expect(await patrolled(store, 1, { every: hour })).toContain('round')
  })

  it('continues a round that was interrupted, and does not begin it again', async () => {
    const { store: first, file } = await scene(['a', 'b', 'c'])
    altered(file, 'b')
    const ending = new AbortController()
    await first.audit.patrol({
      every: 0,
      share: 1,
      signal: ending.signal,
      onEvent: (event) => {
        if (event.type === 'alarm' && event.problem.kind === 'conversation') ending.abort()
      },
    })
    expect(await first.audit.status()).not.toHaveProperty('patrolled')
    // It was there already: the next round finds it.
    altered(file, 'a')
    const second = await opened(file)
    expect(await patrolled(second, 1)).toEqual(['round'])
    const counts = { conversations: 3, events: 2, entries: 3, problems: 2 }
    expect((await second.audit.status()).patrolled).toMatchObject(counts)
    const third = await opened(file)
    expect(await patrolled(third, 1)).toEqual(['a', 'a', 'round'])
    expect((await third.audit.status()).patrolled).toMatchObject({ conversations: 3, problems: 4 })
  })

  it('tells what a sealer would pass over when it comes to it, however often it is interrupted before its end', async () => {
    const { store, file } = await scene(['other', 'z'])
    await say(store, ['late'])
    const [, end = ''] = (await audited(store)).done.checkpoint.split('@')
    const db = new DatabaseSync(file)
    db.prepare(`UPDATE events SET data = json_set(data, '$.after', ?) WHERE type = 'HeadsSealed'`).run(end)
    db.close()
    altered(file, 'z')
    const told: unknown[] = []
    const ending = new AbortController()
    await store.audit.patrol({
      every: 0,
      share: 1,
      signal: ending.signal,
      onEvent: (event) => {
        if (event.type !== 'alarm') return
        told.push([event.problem.kind, event.problem.conversation])
        if (event.problem.kind === 'conversation') ending.abort()
      },
    })
    expect(await store.audit.status()).not.toHaveProperty('patrolled')
    // The events that were removed leave a gap in the file.
    expect(told).toEqual([
      ['store', undefined],
      ['entry', 'z'],
      ['entry', 'late'],
      ['conversation', 'z'],
    ])
  })

  it('takes no share that is none', async () => {
    const { store } = await scene()
    const error: unknown = await store.audit.patrol({ share: 0 }).catch((thrown: unknown) => thrown)
    expect(isError(error, 'InvalidInput')).toBe(true)
  })
})

test('replies without a receipt are counted, on whichever branch', async () => {
  const { store } = await scene()
  const chat = store.conversation('a')
  const reply = { role: 'assistant', content: 'Yes.', origin: { model: 'm' } } as const
  await chat.append([reply, { role: 'user', content: 'No.' }])
  await chat.append([{ role: 'assistant', content: 'By hand.' }])
  await chat.rewind({ to: 0 })
  await chat.append(reply)
  expect(await store.audit.status({ calls: true })).toMatchObject({ withoutReceipt: 2 })
  expect(await store.audit.status()).not.toHaveProperty('withoutReceipt')
  expect((await audited(store)).done).toMatchObject({ withoutReceipt: 2 })
})
