import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { storeOn, taskStore } from '../../../src/api/open.ts'
import { type Anchor, parseNote, timestampAnchor } from '../../../src/audit.ts'
import { certificatesIn } from '../../../src/audit/ledger/certificates.ts'
import { promiseStore } from '../../../src/api/promises.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { checkTimestamp, timestampLines, timestampRequest } from '../../../src/audit/ledger/timestamp.ts'
import { right } from '../../support/either.ts'
import {
  answering,
  authority,
  type Authority,
  hasOpenssl,
  onlyOpenssl,
} from '../../support/timestamp-authority.ts'
import { newSigner, problemsIn, say, storeOf } from './scene.ts'

/** A store that was written to and has a ledger. */
const scene = async () => {
  const [store, signer] = [await storeOf('memory'), await newSigner()]
  await store.audit.init({ signer })
  await say(store, ['a', 'b'])
  return { store, signer }
}

/** Why an anchor did not give a timestamp. */
const failing = async (anchor: Anchor): Promise<string | undefined> => {
  const { store, signer } = await scene()
  const { anchored } = await store.audit.seal({ signer, anchors: [anchor] })
  return anchored[0]?.error?._tag === 'AnchorFailed' ? anchored[0].error.message : undefined
}

const nonceOf = (): Buffer => Buffer.from([1, ...randomBytes(7)])
const checking = (reply: Buffer, text: string, pem: string) =>
  checkTimestamp(reply, text, right(certificatesIn(pem)))()

const kinds = {
  'P-256': {},
  'RSA with SHA-512': { key: ['rsa:2048'], digest: 'sha512' },
}

describe.skipIf(!hasOpenssl)(`a timestamp authority${onlyOpenssl}`, () => {
  it.each(Object.entries(kinds))(
    'signs when a checkpoint was there, and OpenSSL agrees: %s',
    async (_, kind) => {
      const own = await authority(kind)
      const { store, signer } = await scene()
      for (const trust of [own.ca, own.own]) {
        const anchors = [timestampAnchor({ url: await answering(own.reply), trust })]
        const before = Date.now()
        const { anchored } = await store.audit.seal({ signer, anchors })
        expect(anchored).toEqual([{ anchor: anchors[0]?.name }])
        expect(await problemsIn(store, { anchors })).toEqual([])
        const { anchors: seen, exposedSince } = await store.audit.status()
        expect(seen).toContainEqual(expect.objectContaining({ anchor: anchors[0]?.name, size: 2 }))
        expect(exposedSince).toBeUndefined()

        const note = right(parseNote((await store.audit.proof('a')).checkpoint))
        const line = timestampLines(note).find(({ name }) => name === anchors[0]?.name)
        const { time } = right(await checking(line?.signature as Buffer, note.text, trust))
        expect(Math.abs(time.getTime() - before)).toBeLessThan(60_000)
        writeFileSync(join(own.folder, 'text'), note.text)
        writeFileSync(join(own.folder, 'reply.tsr'), line?.signature as Buffer)
        await own.openssl('ts', '-verify', '-data', 'text', '-in', 'reply.tsr', '-CAfile', 'ca.pem')
      }
    },
  )

  it('is asked with what OpenSSL would ask', async () => {
    const { folder, openssl } = await authority()
    writeFileSync(join(folder, 'query'), timestampRequest('hello\n', Buffer.from('4142434445464748', 'hex')))
    const said = await openssl('ts', '-query', '-in', 'query', '-text')
    expect(said).toContain('Hash Algorithm: sha256')
    expect(said).toContain('58 91 b5 b5 22 d5 df 08')
    expect(said).toContain('Nonce: 0x4142434445464748')
    expect(said).toContain('Certificate required: yes')
  })

  it('has signed the first time as well as a later one: a proof carries the first', async () => {
    const own = await authority()
    const { store, signer } = await scene()
    const anchors = [timestampAnchor({ url: await answering(own.reply), trust: own.ca })]
    await store.audit.seal({ signer, anchors })
    const first = (await store.audit.proof('a')).checkpoint
    // Under another address, it is asked once more.
    const again = [timestampAnchor({ url: `${await answering(own.reply)}/2`, trust: own.ca })]
    await store.audit.seal({ signer, anchors: again })
    expect((await store.audit.proof('a')).checkpoint.startsWith(first)).toBe(true)
  })

  it('shows that a checkpoint was recorded again, under a time at which it was not there', async () => {
    const own = await authority()
    const signer = await newSigner()
    const events = memoryStore()
    const store = promiseStore(taskStore(storeOn(events, { kind: 'test' })))
    await store.audit.init({ signer })
    await say(store, ['a'])
    const anchors = [timestampAnchor({ url: await answering(own.reply), trust: own.ca })]
    await store.audit.seal({ signer, anchors })
    expect(await problemsIn(store, { anchors })).toEqual([])
    // The same events, of which somebody says that they were written three months ago.
    const older = memoryStore()
    const [from, to] = [new Date().toISOString().slice(0, 10), '2026-01-15']
    const { events: all } = right(await events.readAll({ prefixes: [''], after: undefined, limit: 1_000 })())
    for (const { stream, revision, id, type, data, metadata } of all) {
      const event = { id, type, data, metadata: metadata.replaceAll(from, to) }
      right(await older.append({ stream, events: [event], expected: revision - 1, repeat: 'none' })())
    }
    const again = promiseStore(taskStore(storeOn(older, { kind: 'test' })))
    expect(await problemsIn(again, { anchors })).toContainEqual({ kind: 'anchor' })
    for await (const finding of again.audit.verify({ anchors }))
      if (finding.type === 'problem' && finding.kind === 'anchor')
        expect(finding.message).toContain('recorded again later with a different time')
  })

  it('is asked once for a checkpoint, unless what the store says it answered is not so', async () => {
    const [own, other] = [await authority(), await authority()]
    const { store, signer } = await scene()
    let asked = 0
    const url = await answering((query) => (asked++, own.reply(query)))
    const anchors = [timestampAnchor({ url, trust: own.ca })]
    const sealed = { anchored: [{ anchor: anchors[0]?.name }] }
    for (const [n, size] of [2, 2, 3, 3].entries()) {
      expect(await store.audit.seal({ signer, anchors })).toMatchObject({ ...sealed, size })
      const ending = new AbortController()
      const onEvent = (): void => ending.abort()
      await store.audit.follow({ signer, anchors, every: 1, onEvent, signal: ending.signal })
      expect(asked).toBe(size - 1)
      if (n === 1) await say(store, ['a'])
    }
    // Of another authority under that name, nothing is known.
    const replaced = [timestampAnchor({ url, trust: other.ca })]
    const { anchored } = await store.audit.seal({ signer, anchors: replaced })
    expect(anchored).toMatchObject([{ error: { _tag: 'AnchorFailed' } }])
    expect(asked).toBe(3)
  })

  it('shows a history that was written again under the same key, and an answer that is not its own', async () => {
    const own = await authority()
    const url = await answering(own.reply)
    const [signer, anchors] = [await newSigner(), [timestampAnchor({ url, trust: own.ca })]]
    /** A store in which this was said, sealed under the same key and origin. */
    const saying = async (content: string) => {
      const events = memoryStore()
      const { audit, conversation } = storeOn(events, { kind: 'test' })
      right(await audit.init({ signer, origin: 'example.com/log' })())
      right(await conversation('a').append({ role: 'user', content })())
      right(await audit.seal({ signer })())
      const problems = async (asked: readonly Anchor[] = anchors) => {
        const messages = []
        for await (const found of audit.verify({ anchors: asked }))
          if (found.type === 'problem') messages.push(found.message)
        return messages
      }
      return { events, audit, problems }
    }
    const before = await saying('Hello.')
    expect(await before.problems()).toEqual([expect.stringContaining('holds no checkpoint of ledger')])
    right(await before.audit.seal({ signer, anchors })())
    expect(await before.problems()).toEqual([])
    const other = timestampAnchor({ url, trust: (await authority()).ca })
    expect(await before.problems([other])).toEqual([expect.stringContaining('is not trusted')])

    const after = await saying('Good bye.')
    const stream = 'ledger-0-anchors'
    const events = right(await before.events.read({ stream, from: 0, direction: 'forwards', limit: 10 })())
    right(await after.events.append({ stream, events, expected: -1, repeat: 'none' })())
    expect(await after.problems()).toEqual([expect.stringContaining(anchors[0]?.name ?? '')])
  })
})

type Answer = (own: Authority, query: Buffer) => Promise<Buffer>
const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy[copy.length + at] = (copy.at(at) ?? 0) ^ 1
  return copy
}
/** The time in a TSTInfo, moved by so many milliseconds. */
const moved = (info: Buffer, by: number): Buffer => {
  const time = new Date(Date.now() + by).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return Buffer.from(info.toString('latin1').replace(/\d{14}Z/, time), 'latin1')
}
const hour = 3_600_000

const answers: Readonly<Record<string, readonly [Answer, RegExp]>> = {
  'of another text': [
    ({ reply }) => reply(timestampRequest('another', nonceOf())),
    /gave a timestamp for different content/,
  ],
  'to another request': [
    async ({ reply }, query) => reply(Buffer.concat([query.subarray(0, -11), nonceOf(), query.subarray(-3)])),
    /answered another request/,
  ],
  'without a nonce': [
    async ({ reply }, query) =>
      reply(Buffer.concat([Buffer.from([0x30, 0x39]), query.subarray(2, -13), query.subarray(-3)])),
    /answered another request/,
  ],
  'of another authority': [async (_, query) => (await authority()).reply(query), /is not trusted/],
  'with another signature': [
    async ({ reply }, query) => flipped(await reply(query), -1),
    /its certificate does not verify|without a timestamp/,
  ],
  'by a certificate that is for other uses, too': [
    async ({ reply, forged }, query) => forged(await reply(query), (info) => info, 'plain'),
    /not limited to timestamps/,
  ],
  'an hour fast': [
    async ({ reply, forged }, query) => forged(await reply(query), (info) => moved(info, hour)),
    /its clock or the local clock is wrong/,
  ],
  'from before its certificate': [
    async ({ reply, forged }, query) => forged(await reply(query), (info) => moved(info, -hour)),
    /was not valid then/,
  ],
  'cut off': [async ({ reply }, query) => (await reply(query)).subarray(0, -100), /without a timestamp/],
  empty: [() => Promise.resolve(Buffer.alloc(0)), /without a timestamp/],
  'that is a page': [() => Promise.resolve(Buffer.from('<!doctype html>')), /without a timestamp/],
  'of 10 MB': [
    () => Promise.resolve(Buffer.alloc(10_000_000, 0x30)),
    /does not answer \(with more than 65536 bytes\)/,
  ],
  'that says no': [
    async (_, query) => (await authority({ digests: 'sha512' })).reply(query),
    /refused the request \(status 2, Message digest algorithm is not supported/,
  ],
}

describe.skipIf(!hasOpenssl)(`an answer that is none${onlyOpenssl}`, () => {
  it.each(Object.entries(answers))('%s', async (_, [answer, problem]) => {
    const own = await authority()
    const url = await answering((query) => answer(own, query))
    expect(await failing(timestampAnchor({ url, trust: own.ca }))).toMatch(problem)
  })

  it('what is forged for these tests would do if nothing was wrong with it', async () => {
    const own = await authority()
    const url = await answering(async (query) => own.forged(await own.reply(query), (info) => moved(info, 0)))
    expect(await failing(timestampAnchor({ url, trust: own.ca }))).toBeUndefined()
  })

  it('in a time that no timer can take is not awaited', () => {
    const within = (timeout: number) => () =>
      timestampAnchor({ url: 'https://tsa.example/', trust: '', timeout })
    for (const timeout of [0, 1.5, 2 ** 31, Number.NaN]) expect(within(timeout)).toThrow(/^timeout/)
    expect(within(2 ** 31 - 1)).toThrow(/^trust/)
  })

  it('an error, none at all, or nobody there', async () => {
    const { ca: trust } = await authority()
    const url = await answering(() => Promise.resolve(Buffer.from('overloaded')), 503)
    expect(await failing(timestampAnchor({ url, trust }))).toContain('does not answer (HTTP 503)')
    const silent = await answering(() => Promise.resolve(undefined))
    expect(await failing(timestampAnchor({ url: silent, trust, timeout: 100 }))).toContain('does not answer')
    expect(await failing(timestampAnchor({ url: 'http://127.0.0.1:9/', trust }))).toContain('does not answer')
  })

  it('cut off anywhere or changed in one bit says nothing else', async () => {
    const own = await authority()
    const reply = await own.reply(timestampRequest('text', nonceOf()))
    const genuine = right(await checking(reply, 'text', own.ca))
    for (let end = 0; end < reply.length; end += 7)
      expect(E.isLeft(await checking(reply.subarray(0, end), 'text', own.ca))).toBe(true)
    for (let at = 0; at < reply.length; at += 3) {
      const checked = await checking(flipped(reply, at - reply.length), 'text', own.ca)
      if (E.isRight(checked)) expect(checked.right).toEqual(genuine)
    }
  })
})
