import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashOf } from '../../../src/events/codec.ts'
import { stateAfter, hashFrom } from '../../../src/events/sha256.ts'
import { verifyEvidence } from '../../../src/audit/evidence/verify.ts'
import { openWithheld, withheldText } from '../../../src/events/withheld.ts'
import { parseKey } from '../../../src/audit/ledger/keys.ts'
import { isError, openStore, type Store } from '../../../src/index.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { exportEvidence } from '../../../src/audit/evidence/export.ts'
import { toError } from '../../../src/result/typed-error.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { loadSample } from '../../../src/cli/sample.ts'
import { chatPlans, plans } from '../../support/agent-runs/random-plans.ts'
import { runAgents } from '../../support/agent-runs/run.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { ledgerOf } from '../../support/evidence/ledger.ts'
import { judged, onlyPython, python } from '../../support/evidence/python.ts'
import { runs } from '../../support/runs.ts'
import { temporaryFolder } from '../../support/stores.ts'

const sample = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  await loadSample(store)
  return store
}
const said = (text: string) => ({ role: 'user', content: text }) as const
const textsIn = (folder: string): string =>
  readdirSync(folder)
    .map((name) => `${name}\n${readFileSync(join(folder, name), 'utf8')}`)
    .join('\n')

describe('a bundle', () => {
  it('holds the events to the byte: four lines each, whose hash the next one names', async () => {
    const store = await sample()
    const folder = join(temporaryFolder(), 'new', 'evidence')
    const chat = store.conversation('hours-invoice')
    const { events } = await chat.evidence({ folder })
    const lines = readFileSync(join(folder, 'events.txt'), 'utf8').split('\n').slice(0, -1)
    expect(lines).toHaveLength(4 * events)
    let prev: string | null = null
    for (let n = 0; n < lines.length; n += 4) {
      expect((JSON.parse(lines[n + 3] as string) as { prev: unknown }).prev).toBe(prev)
      prev = hash('sha256', lines.slice(n, n + 4).join('\n'))
    }
    let last = ''
    for await (const event of chat.stored({ to: events - 1 })) last = hashOf(event)
    expect(prev).toBe(last)
  })

  it('holds every request as it was sent, in less than three times the bytes of the events', async () => {
    const store = await sample()
    for await (const { id } of store.conversations()) {
      const folder = join(temporaryFolder(), 'evidence')
      const { bytes, requests, omitted } = await store.conversation(id).evidence({ folder })
      const { receipts } = await store.conversation(id).verifyReceipts()
      expect({ requests, omitted }).toEqual({ requests: receipts, omitted: [] })
      expect(bytes.events + bytes.requests).toBeLessThan(3 * bytes.events)
    }
  })

  it('of a fork has what it was forked from up to there, and nothing that came later or belongs to others', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const first = store.conversation('first')
    await first.append([said('one'), said('two')])
    const second = await first.fork('second', { at: 0 })
    await first.append(said('LATER IN FIRST'))
    await second.append([said('three'), said('LATER IN SECOND')])
    // What it has is of the first one only.
    const third = await second.fork('third', { at: 0 })
    await third.append(said('four'))
    await third.note({ kind: 'my/note', data: 'A NOTE' })
    const folder = join(temporaryFolder(), 'evidence')
    expect(await third.evidence({ folder })).toMatchObject({ events: 3, requests: 0 })
    expect(textsIn(folder)).not.toMatch(/LATER|A NOTE/)
    expect(await verifyEvidence(folder)).toMatchObject({ verdict: 'unproven' })
  })

  it('is written into an empty folder only', async () => {
    const store = await sample()
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'mine.txt'), '')
    const error: unknown = await store
      .conversation('hours-invoice')
      .evidence({ folder })
      .catch((thrown: unknown) => thrown)
    expect(isError(error, 'FileExists')).toBe(true)
    expect(readdirSync(folder)).toEqual(['mine.txt'])
  })

  it('is none of a conversation that is not there, and makes no folder', async () => {
    const store = await sample()
    const folder = join(temporaryFolder(), 'evidence')
    const error: unknown = await store
      .conversation('nobody')
      .evidence({ folder })
      .catch((thrown: unknown) => thrown)
    expect(isError(error, 'ConversationNotFound')).toBe(true)
    expect(existsSync(folder)).toBe(false)
  })

  it.each([
    [{ withhold: [49] }, 'withhold'],
    [{ withhold: [-1] }, 'withhold'],
    [{ calls: { first: 3, last: 2 } }, 'calls'],
    [{ calls: { first: 0, last: 2 } }, 'calls'],
  ])('is not made with options that make no sense: %j', async (options, path) => {
    const chat = (await sample()).conversation('hours-invoice')
    const folder = join(temporaryFolder(), 'evidence')
    const error: unknown = await chat.evidence({ folder, ...options }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ _tag: 'InvalidInput', path })
    expect(existsSync(folder)).toBe(false)
  })

  it('is recorded once a folder is known to take files, and before there is anything in them', async () => {
    const chat = (await sample()).conversation('hours-invoice')
    const folder = join(temporaryFolder(), 'evidence')
    let found = 'not recorded'
    const onReady = async () => void (found = textsIn(folder))
    await chat.evidence({ folder, onReady })
    expect(found).toBe('events.txt\n')
  })

  it('leaves nothing behind if it cannot be recorded', async () => {
    const chat = (await sample()).conversation('hours-invoice')
    const folder = join(temporaryFolder(), 'evidence')
    const onReady = () => Promise.reject(new Error('not recorded'))
    await expect(chat.evidence({ folder, onReady })).rejects.toThrow('not recorded')
    expect(existsSync(folder)).toBe(false)
    await expect(chat.document({ file: join(folder, 'a.json'), format: 'vcon', onReady })).rejects.toThrow(
      'not recorded',
    )
    expect(existsSync(folder)).toBe(false)
  })

  it('leaves nothing behind if it fails when half of it is written, and nothing of others goes', async () => {
    const tasks = storeOn(memoryStore(), { kind: 'test' })
    await loadSample(promiseStore(taskStore(tasks)))
    const chat = tasks.conversation('hours-invoice')
    const lost = toError({ _tag: 'BlobMissing', message: 'it is lost' })
    const torn: typeof chat = {
      ...chat,
      // The events are written by then, and the first requests.
      events: async function* (options) {
        for await (const event of chat.events(options)) {
          if (event.position === 30) throw lost
          yield event
        }
      },
    }
    const outside = temporaryFolder()
    const there = join(outside, 'there')
    mkdirSync(there)
    for (const folder of [there, join(outside, 'new', 'evidence')])
      expect(await exportEvidence(torn, { folder })()).toMatchObject({ left: { _tag: 'BlobMissing' } })
    expect(readdirSync(outside, { recursive: true })).toEqual(['there'])
    const onReady = async () => writeFileSync(join(outside, 'new', 'theirs.txt'), '')
    const folder = join(outside, 'new', 'evidence')
    expect(await exportEvidence(torn, { folder, onReady })()).toMatchObject({ _tag: 'Left' })
    expect(readdirSync(join(outside, 'new'))).toEqual(['theirs.txt'])
  })

  it('reads the log once to check what is wanted, and no further than that takes', async () => {
    const tasks = storeOn(memoryStore(), { kind: 'test' })
    await loadSample(promiseStore(taskStore(tasks)))
    const chat = tasks.conversation('hours-invoice')
    const counts: number[] = []
    const counting = <O, A>(events: (options?: O) => AsyncIterable<A>) =>
      async function* (options?: O): AsyncGenerator<A, void> {
        const n = counts.push(0) - 1
        for await (const event of events(options)) {
          counts[n] = (counts[n] ?? 0) + 1
          yield event
        }
      }
    const watched = { ...chat, events: counting(chat.events), stored: counting(chat.stored) }
    const folder = join(temporaryFolder(), 'evidence')
    right(await exportEvidence(watched, { folder, withhold: [2, 5], calls: { first: 1, last: 2 } })())
    // What is checked, what is searched for secrets, the events, the requests, and what turns recorded.
    expect(counts).toEqual([6, 49, 4, 49, 49, 4])
  })

  it('that was not written to its end is no bundle, whichever file was the last', async () => {
    const chat = (await sample()).conversation('hours-invoice')
    for (const name of ['events.txt', 'parts.txt', 'requests.jsonl']) {
      const folder = join(temporaryFolder(), 'evidence')
      await chat.evidence({ folder })
      rmSync(join(folder, name))
      expect(await verifyEvidence(folder)).toMatchObject({
        verdict: 'broken',
        problem: `there is no ${name}: the bundle is incomplete`,
      })
    }
    const folder = join(temporaryFolder(), 'evidence')
    await chat.evidence({ folder })
    rmSync(join(folder, 'bundle.json'))
    expect(await verifyEvidence(folder)).toMatchObject({
      verdict: 'unchecked',
      problem: 'there is no bundle.json: the bundle is incomplete, get another copy',
    })
    const again = await chat.evidence({ folder }).catch((error: unknown) => error)
    expect(again).toMatchObject({
      _tag: 'FileExists',
      message: expect.stringContaining('left by an export that was interrupted') as string,
    })
  })

  it('without a ledger, or without its key, is not proven, and says so', async () => {
    const chat = (await sample()).conversation('hours-invoice')
    const folder = join(temporaryFolder(), 'evidence')
    await chat.evidence({ folder })
    const key = right(parseKey('example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'))
    expect(await verifyEvidence(folder, key)).toMatchObject({
      verdict: 'unproven',
      problem: expect.stringContaining('there is no ledger') as string,
    })
  })

  it('is not proven as far as it is newer than the ledger', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append([said('one'), said('two')])
    let head = ''
    for await (const event of chat.stored({ to: 1 })) head = hashOf(event)
    const sealed = { name: 'a', revision: 1, position: 1, head }
    const ledger = await ledgerOf([sealed])
    const proof = ledger.proofOf([sealed])
    const key = right(parseKey(ledger.pinned))
    const then = join(temporaryFolder(), 'evidence')
    await chat.evidence({ folder: then, ledger: proof })
    expect(await verifyEvidence(then, key)).toMatchObject({ verdict: 'proven' })
    await chat.append(said('three'))
    const now = join(temporaryFolder(), 'evidence')
    await chat.evidence({ folder: now, ledger: proof })
    expect(await verifyEvidence(now, key)).toMatchObject({
      verdict: 'unproven',
      problem: 'the last event is newer than the ledger',
    })
  })
})

describe('what is withheld', () => {
  it('is in none of the files, with its id and the requests that showed it', async () => {
    const store = await sample()
    const chat = store.conversation('hours-invoice')
    for await (const { position, id, type, data } of chat.events()) {
      if (type !== 'MessageAppended' || position % 5 !== 3) continue
      const folder = join(temporaryFolder(), 'evidence')
      const { omitted, requests } = await chat.evidence({ folder, withhold: [position] })
      const all = textsIn(folder)
      expect(all).not.toContain(id)
      for (const { text } of data.content as readonly { readonly text?: unknown }[])
        if (typeof text === 'string' && text.length > 40)
          expect(all).not.toContain(JSON.stringify(text).slice(1, -1))
      const { receipts } = await chat.verifyReceipts()
      const own = data.origin?.context ? 1 : 0
      expect(requests + omitted.length + own).toBe(receipts)
      expect(await verifyEvidence(folder)).toMatchObject({ verdict: 'unproven' })
    }
  })

  it('is named with every summary that was made of it, through summaries of summaries', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append([said('one'), said('two'), said('three'), said('four'), said('five')])
    await chat.condense({ summary: 'one and two', covers: { first: 0, last: 1 } }) // 5
    await chat.condense({ summary: 'three', covers: { first: 2, last: 2 } }) // 6
    await chat.condense({ summary: 'one, two, three', covers: { first: 5, last: 6 } }) // 7
    await chat.truncate({ covers: { first: 7, last: 3 } }) // 8
    await chat.condense({ summary: 'nothing new', covers: { first: 4, last: 4 } }) // 9
    const tainted = async (withhold: readonly number[]) =>
      (await chat.evidence({ folder: join(temporaryFolder(), 'e'), withhold })).tainted
    expect(await tainted([1])).toEqual([
      { position: 5, of: [1] },
      { position: 7, of: [5] },
    ])
    expect(await tainted([2])).toEqual([
      { position: 6, of: [2] },
      { position: 7, of: [6] },
    ])
    expect(await tainted([1, 5])).toEqual([{ position: 7, of: [5] }])
    expect(await tainted([])).toEqual([])
  })

  it('cannot be the beginning of a fork', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('a')
    await chat.append(said('one'))
    const fork = await chat.fork('b')
    const error: unknown = await fork
      .evidence({ folder: join(temporaryFolder(), 'e'), withhold: [1] })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ _tag: 'InvalidInput', path: 'withhold' })
  })

  it('has its hash, and names the one before it, whatever is in it', () => {
    const words = fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => JSON.stringify(text))
    const prev = fc.option(
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    )
    fc.assert(
      fc.property(words, words, prev, (data, actor, before) => {
        const metadata = `{"actor":${actor},"prev":${JSON.stringify(before)}}`
        const event = { id: 'an-id', type: 'MessageAppended', data, metadata }
        const text = withheldText(event) as string
        expect(text.startsWith('\n') && text.endsWith('\n')).toBe(true)
        expect(openWithheld(text.slice(1, -1))).toEqual({ hash: hashOf(event), prev: before })
      }),
      { numRuns: runs(300) },
    )
  })

  it('is finished from any block on as node:crypto hashes the whole', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(6), (bytes, blocks) => {
        const text = Buffer.from(bytes)
        const before = Math.min(blocks, Math.floor(text.length / 64)) * 64
        const state = stateAfter(text.subarray(0, before))
        expect(hashFrom(state, text.subarray(before), text.length).toString('hex')).toBe(hash('sha256', text))
      }),
      { numRuns: runs(300) },
    )
  })
})

describe(`the bundles of agents that talk to the APIs${onlyPython}`, () => {
  it.skipIf(!python)(
    'hold every request that has a receipt, also for summaries and for Chat Completions',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.oneof(plans, chatPlans), (plan) =>
          runAgents(plan, async ({ conversations }) => {
            const parent = temporaryFolder()
            const folders: string[] = []
            for (const { chat } of conversations) {
              const folder = join(parent, chat.id)
              const { requests, omitted } = await chat.evidence({ folder })
              expect(omitted).toEqual([])
              expect(requests).toBeLessThanOrEqual((await chat.verifyReceipts()).receipts)
              folders.push(folder)
            }
            for (const lines of judged(folders).said.values())
              expect(lines.at(-1)).toMatch(/^NOT PROVEN: there is no ledger/)
            rmSync(parent, { recursive: true })
          }),
        ),
        { numRuns: runs(10) },
      )
    },
  )
})
