import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inflateRawSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openClient } from '../../src/server/client/index.ts'
import { type Conversation, openStore } from '../../src/index.ts'
import { cache, cost, markerStory, replay, why, whyAll } from '../../src/investigate/index.ts'
import { verifyEvidence } from '../../src/audit/evidence/verify.ts'
import { parseKey } from '../../src/audit/ledger/keys.ts'
import { lane } from '../../src/server/bounded.ts'
import { evidenceOf } from '../../src/server/evidence.ts'
import { toError } from '../../src/result/typed-error.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { exportsOf, newSigner } from '../audit/ledger/scene.ts'
import { failure, right } from '../support/either.ts'
import { serving } from '../support/server/asking.ts'
import { temporaryFolder } from '../support/stores.ts'
import { shell } from '../cli/palimpsest.ts'

const [id] = sampleIds
const of = `conversations/${id}`

/** The sample with receipts, and a client that reaches its server. */
const clientOf = ({ fetch }: Pick<Awaited<ReturnType<typeof serving>>, 'fetch'>) =>
  openClient('http://localhost', {
    fetch: (url, init) =>
      fetch(`/api/v1${(url as string).slice('http://localhost/api/v1'.length)}`, askedOf(init)),
  })
const sampled = async () => {
  const scene = await serving()
  await loadSample(scene.store)
  const client = clientOf(scene)
  return { ...scene, chat: scene.store.conversation(id), client, remote: client.conversation(id) }
}
const askedOf = (init: RequestInit = {}) => ({
  ...(init.method !== undefined && { method: init.method as 'GET' }),
  ...(typeof init.body === 'string' && { text: init.body }),
  headers: init.headers as Record<string, string>,
})

/** The files of an archive, read by its central directory. */
const unzipped = (bytes: Buffer): ReadonlyMap<string, Buffer> => {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  const files = new Map<string, Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let n = bytes.readUInt16LE(end + 10); n > 0; n--) {
    const [packed, size] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)]
    const length = bytes.readUInt16LE(at + 28)
    const name = bytes.toString('utf8', at + 46, at + 46 + length)
    const local = bytes.readUInt32LE(at + 42)
    const begin = local + 30 + bytes.readUInt16LE(local + 26)
    const content = inflateRawSync(bytes.subarray(begin, begin + packed))
    expect(content).toHaveLength(size)
    files.set(name, content)
    at += 46 + length
  }
  return files
}

/** A folder for temporary files of this test alone. */
const watched = (): string => {
  const folder = temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  atEnd(() => void vi.unstubAllEnvs())
  return folder
}

describe('the standing of a conversation', () => {
  test('is said in a store without a ledger, of a sealed conversation, and of one that was written to since', async () => {
    const { ask, store, client, remote } = await sampled()
    expect(await client.audit()).toBeUndefined()
    expect(await remote.standing()).toEqual({ conversation: id, last: 48 })
    const signer = await newSigner()
    const { key } = await store.audit.init({ signer, origin: 'example.com/log' })
    expect((await ask(`${of}/audit`)).json).toMatchObject({ ledger: { heads: [], anchors: [], size: 0 } })
    await store.audit.seal({ signer })
    const sealed = await remote.standing()
    expect(sealed.ledger).toMatchObject({ key, size: 4, heads: [{ position: 48, state: 'same' }] })
    expect(sealed.ledger?.proof).toEqual(await store.audit.proof(id))
    await store.conversation(id).rewind({ to: 40 })
    expect(await remote.standing()).toMatchObject({ last: 49, ledger: { heads: [{ position: 48 }] } })
    expect(await client.audit()).toEqual(await store.audit.status())
    const fork = await client.conversation(sampleIds[1]).standing()
    const { first = 0, heads = [] } = fork.ledger ?? {}
    expect(heads[0]).toMatchObject({ position: first + (heads[0]?.revision ?? 0), state: 'same' })
    expect(first).toBeGreaterThan(0)
  })

  test('counts the positions of a fork on, also if what it was forked from cannot be read', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    const parent = store.conversation('parent')
    for (let n = 0; n < 3; n++) await parent.append({ role: 'user', content: 'Hi.' })
    await parent.fork('child')
    const signer = await newSigner()
    await store.audit.init({ signer })
    await store.audit.seal({ signer })
    const { heads: before } = await store.audit.standing('child')
    await store.close()
    const db = new DatabaseSync(file)
    db.exec(
      "DELETE FROM events WHERE revision = 0 AND stream = (SELECT id FROM streams WHERE name = 'conversation-parent')",
    )
    db.close()
    const torn = await openStore(`sqlite:${file}`)
    atEnd(torn.close)
    expect(await torn.audit.standing('child')).toMatchObject({
      first: 3,
      heads: before.map(({ position }) => ({ position, state: 'changed' })),
    })
    expect(before.map(({ position }) => position)).toEqual([3])
  })

  test('is that it is gone, of a sealed conversation that was removed', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = await openStore(`sqlite:${file}`)
    atEnd(store.close)
    const { ask } = await serving({ store })
    await store.conversation('kept').append({ role: 'user', content: 'Hi.' })
    await store.conversation('removed').append({ role: 'user', content: 'Hi.' })
    const signer = await newSigner()
    await store.audit.init({ signer })
    await store.audit.seal({ signer })
    const db = new DatabaseSync(file)
    const removed = "(SELECT id FROM streams WHERE name = 'conversation-removed')"
    db.exec(`DELETE FROM events WHERE stream = ${removed}`)
    db.close()
    const { status, json } = await ask('conversations/removed/audit')
    expect([status, json]).toMatchObject([200, { last: -1, ledger: { heads: [{ state: 'gone' }] } }])
    expect((await ask('conversations/never/audit')).status).toBe(404)
  })
})

describe('the verification of a conversation', () => {
  test('counts what receipts prove', async () => {
    const { remote, chat } = await sampled()
    const { receipts } = await chat.verifyReceipts()
    expect(await remote.verification()).toEqual({
      conversation: id,
      last: 48,
      events: 49,
      receipts: { verified: receipts, differs: 0, missing: 0, reconstructed: 0, findings: [] },
    })
  })
})

describe('an archive of evidence', () => {
  test('holds the bundle that the command line writes, which both verifiers accept', async () => {
    const { ask, fetch, store, remote } = await sampled()
    const temporary = watched()
    const signer = await newSigner()
    const { key } = await store.audit.init({ signer })
    await store.audit.seal({ signer })
    const answer = await fetch(`${of}/evidence`, { json: {} })
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${id}-evidence.zip"`)
    expect(JSON.parse(answer.headers.get('palimpsest-evidence') ?? '')).toMatchObject({
      events: 49,
      isSealed: true,
      unsealed: 0,
    })
    const files = unzipped(Buffer.from(await answer.arrayBuffer()))
    const folder = join(temporaryFolder(), 'bundle')
    mkdirSync(folder)
    for (const [name, content] of files)
      writeFileSync(join(folder, name.replace(`${id}-evidence/`, '')), content)
    expect(await verifyEvidence(folder, right(parseKey(key)))).toMatchObject({ verdict: 'proven' })
    const again = join(temporaryFolder(), 'again')
    await store
      .conversation(id)
      .evidence({ folder: again, ledger: await store.audit.proof(id, { entries: true }) })
    const texts = (from: string) =>
      readdirSync(from).map((name) => [name, readFileSync(join(from, name), 'utf8')])
    expect(texts(folder)).toEqual(texts(again))
    const blob = await remote.evidence({ withhold: [0] })
    await store.conversation(id).append([
      { role: 'user', content: 'One more.' },
      { role: 'user', content: 'Two.' },
    ])
    const later = await fetch(`${of}/evidence`, { json: {} })
    await later.arrayBuffer()
    expect(JSON.parse(later.headers.get('palimpsest-evidence') ?? '')).toMatchObject({
      isSealed: true,
      unsealed: 2,
    })
    const zip = join(temporaryFolder(), 'some.zip')
    writeFileSync(zip, Buffer.from(await blob.arrayBuffer()))
    const { stdout, error } = spawnSync('python3', ['-m', 'zipfile', '-t', zip], { encoding: 'utf8' })
    if (!error) expect(stdout).toContain('Done testing')
    expect((await ask(`${of}/evidence`, { json: { withhold: [99] } })).status).toBe(400)
    const left = (): readonly string[] => readdirSync(temporary).filter((name) => name.includes('evidence'))
    await expect.poll(left).toEqual([])
  })

  test('is recorded before it is answered, so a server that only reads refuses it', async () => {
    const { ask, store } = await sampled()
    expect((await ask(`${of}/evidence`, { json: { withhold: [0], reason: 'complaint 7' } })).status).toBe(200)
    const recorded = { conversations: [id], by: 'user', withheld: [0], reason: 'complaint 7' }
    expect(await exportsOf(store)).toMatchObject([recorded])
    // What is refused is no export.
    expect((await ask(`${of}/evidence`, { json: { withhold: [99] } })).status).toBe(400)
    expect(await ask(`${of}/evidence`, { json: { calls: { first: 3, last: 99 } } })).toMatchObject({
      status: 404,
      json: { tag: 'CallOutOfRange', detail: expect.stringContaining('name one from 1 to') as string },
    })
    const reading = await serving({ store, isReadOnly: true })
    expect((await reading.ask(`${of}/evidence`, { json: {} })).status).toBe(403)
    expect(await exportsOf(store)).toHaveLength(1)
  })

  test('is recorded before anything of the conversation is written, and not made if that fails', async () => {
    const { store } = await sampled()
    const temporary = watched()
    let found: string | undefined
    const recordExport = (): Promise<void> => {
      const files = readdirSync(temporary, { recursive: true, withFileTypes: true })
      found = files
        .filter((file) => file.isFile())
        .map(({ name, parentPath }) => `${name}: ${readFileSync(join(parentPath, name), 'utf8')}`)
        .join()
      return Promise.reject(toError({ _tag: 'StoreUnavailable', message: 'it is away' }))
    }
    const { fetch } = await serving({ store: { ...store, audit: { ...store.audit, recordExport } } })
    expect((await fetch(`${of}/evidence`, { json: {} })).status).toBe(503)
    expect(found).toBe('events.txt: ')
    expect(readdirSync(temporary)).toEqual([])
  })

  test('is refused where the events are too large, in bytes', async () => {
    const { store, chat } = await sampled()
    const data = '語'.repeat(1024 * 1024)
    const large: Conversation = {
      ...chat,
      stored: async function* () {
        for await (const event of chat.stored()) for (let n = 0; n < 3; n++) yield { ...event, data }
      },
    }
    await expect(evidenceOf(store, large, { withhold: [], force: false }, 'user')).rejects.toMatchObject({
      _tag: 'TooLong',
      limit: 32 * 1024 * 1024,
    })
    expect(await exportsOf(store)).toEqual([])
  })

  test('leaves nothing behind when nobody takes it', async () => {
    const { fetch } = await sampled()
    const temporary = watched()
    const answer = await fetch(`${of}/evidence`, { json: {} })
    await answer.body?.cancel()
    await expect.poll(() => readdirSync(temporary)).toEqual([])
  })
})

test('what is told of a conversation is what the library tells', async () => {
  const { store, chat, client, remote } = await sampled()
  const policy = { context: { window: 20_000 }, mode: 'truncate' } as const
  const { resuming: _, ...told } = await remote.cache()
  const { resuming: __, ...known } = await cache(chat)
  expect(told).toEqual(JSON.parse(JSON.stringify(known)))
  expect(await remote.cost()).toEqual(JSON.parse(JSON.stringify(await cost(store, { conversation: id }))))
  expect(await client.cost()).toEqual(JSON.parse(JSON.stringify(await cost(store))))
  expect(await remote.why(3)).toEqual(JSON.parse(JSON.stringify(await why(chat, { call: 3 }))))
  expect(await remote.whyAll()).toEqual(JSON.parse(JSON.stringify(await whyAll(chat))))
  const story = await markerStory(store, { conversation: id, marker: 30 })
  expect(await remote.markerStory(30)).toEqual(JSON.parse(JSON.stringify(story)))
  expect(await remote.replay(policy)).toEqual(JSON.parse(JSON.stringify(await replay(chat, { policy }))))
})

test('what is too long to look into here names the command that does', async () => {
  const { ask, store } = await serving()
  const messages = Array.from({ length: 5_001 }, () => ({ role: 'user' as const, content: 'x' }))
  await store.conversation('long').append(messages)
  expect((await ask('conversations/long/replay', { json: {} })).json).toMatchObject({
    tag: 'TooLong',
    detail: expect.stringContaining('palimpsest replay long') as string,
    limit: 5_000,
  })
  expect((await ask('conversations/long/why')).json).toMatchObject({
    tag: 'TooLong',
    detail: expect.stringContaining('palimpsest why long --all') as string,
  })
  expect((await ask('conversations/long/cost')).status).toBe(200)
  expect((await ask('cost')).status).toBe(200)
  for (let n = 0; n < 20; n++) await store.conversation('long').fork(`long-${n}`)
  // Subagents count, too.
  await store.conversation('short').append({ role: 'user', content: 'x' })
  const subagent = { relation: 'subagent-of', conversation: 'short' }
  await store.conversation('long-0').link(subagent)
  expect((await ask('conversations/short/cost')).status).toBe(200)
  for (let n = 1; n < 20; n++) await store.conversation(`long-${n}`).link(subagent)
  expect(await ask('conversations/short/cost')).toMatchObject({
    status: 413,
    json: { tag: 'TooLong', detail: expect.stringContaining('palimpsest cost short') as string },
  })
  expect(await ask('cost')).toMatchObject({
    status: 413,
    json: { tag: 'TooLong', detail: expect.stringMatching(/run palimpsest cost$/) as string },
  })
})

test('what is too large to hold in memory names the command, however few its events are', async () => {
  const { ask, store } = await serving()
  const message = { role: 'user' as const, content: 'x'.repeat(1024 * 1024) }
  await store.conversation('large').append(Array.from({ length: 64 }, () => message))
  const asked: readonly (readonly [path: string, command: string, json?: object])[] = [
    ['cache', 'cache large'],
    ['calls/1/why', 'why large --call 1'],
    ['replay', 'replay large', {}],
    ['bisections', 'bisect large --good 0 --bad 63', { good: 0, bad: 63 }],
  ]
  for (const [path, command, json] of asked)
    expect(await ask(`conversations/large/${path}`, json && { json })).toMatchObject({
      status: 413,
      json: {
        tag: 'TooLong',
        limit: 64 * 1024 * 1024,
        detail: expect.stringContaining(`palimpsest ${command}`) as string,
      },
    })
  expect(await store.conversation('large').notes()).toEqual([])
  // These hold nothing that was read.
  for (const path of ['cost', 'verification'])
    expect((await ask(`conversations/large/${path}`)).status).toBe(200)
})

test('each command that is named does what the server does not, and takes no more than was asked for', async () => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}`
  const store = await openStore(url)
  atEnd(store.close)
  await loadSample(store)
  const signer = await newSigner()
  await store.audit.init({ signer })
  await store.audit.seal({ signer })
  writeFileSync(join(folder, 'policy.json'), JSON.stringify({ context: { window: 20_000 } }))
  const messages = Array.from({ length: 33_334 }, () => ({ role: 'user' as const, content: 'x' }))
  for (let n = 0; n < 3; n++) await store.conversation('long').append(messages)
  const { ask } = await serving({ store })
  const bisected = { good: 10, bad: 48 }
  const policy = { context: { window: 20_000 } }
  for (const [path, json] of [
    ['cost'],
    ['long/cost'],
    ['long/cache'],
    ['long/calls/3/why'],
    ['long/replay', {}],
    ['long/replay', { policy }],
    ['long/bisections', bisected],
    ['long/bisections'],
    ['long/bisections/x'],
    ['long/bisections/x/verdicts', { position: 36, verdict: 'good' }],
    ['long/verification'],
    ['long/audit'],
    ['long/evidence', { calls: { first: 3, last: 7 }, withhold: [2, 5] }],
    ['long/evidence', {}],
  ] as const) {
    const { status, json: problem } = await ask(path === 'cost' ? path : `conversations/${path}`, { json })
    expect([path, status]).toEqual([path, 413])
    const [, command = ''] = /: run (palimpsest .+)$/.exec(String(problem['detail'])) ?? []
    const own = command
      .replace('long', id)
      .replace('--good A --bad B', '--good 10 --bad 48')
      .replace('FOLDER', `out-${command.length}`)
      .replace('FILE', 'policy.json')
      .replace('POSITIONS', '2,5')
    const ran = await shell(`${own} --store ${url}`, folder)
    expect([own, ran.code, ran.stderr.match(/^error: .*/m)?.[0]]).toEqual([own, 0, undefined])
  }
  expect(await exportsOf(store)).toMatchObject([{}, { withheld: [2, 5], calls: { first: 3, last: 7 } }])
})

describe('a bisection over HTTP', () => {
  const asked = { good: -1, bad: 40, question: 'is it lost?' }

  test('asks for positions until it has found one, and continues under its id', async () => {
    const { remote, chat } = await sampled()
    const begun = await remote.bisect(asked)
    expect(begun.candidates).toHaveLength(begun.probabilities.length)
    let view = begun
    for (let n = 0; view.result.type === 'ask' && n < 10; n++) {
      const { position } = view.result
      view = await remote.verdict(begun.id, { position, verdict: position >= 17 ? 'bad' : 'good' })
    }
    expect(view.result).toMatchObject({ type: 'found', position: 17 })
    expect(await remote.bisection(begun.id)).toEqual(view)
    expect(await remote.bisect(asked)).toEqual(view)
    expect(await remote.bisections()).toMatchObject([{ id: begun.id, verdicts: view.verdicts.length }])
    const notes = await chat.notes({ kind: 'palimpsest/verdict' })
    expect(notes).toHaveLength(view.verdicts.length)
  })

  test('is told in as few stretches as somebody can look at, each with its likeliest position', async () => {
    const { ask, remote } = await sampled()
    const begun = await remote.bisect(asked)
    const place = `${of}/bisections/${begun.id}`
    const { candidates, probabilities } = begun
    for (const buckets of [1, 7, 40, 41, 10_000]) {
      const told = (await ask(`${place}?buckets=${buckets}`)).json as unknown as typeof begun
      expect(told.candidates.length).toBeLessThanOrEqual(buckets)
      expect(told.candidates[0]).toBe(candidates[0])
      for (const [n, first] of told.candidates.entries()) {
        const next = told.candidates[n + 1] ?? Infinity
        const inside = probabilities.filter((_, index) => {
          const at = candidates[index] ?? -1
          return at >= first && at < next
        })
        expect(told.probabilities[n]).toBe(Math.max(...inside))
      }
    }
    const { result } = begun
    const json = { position: result.type === 'ask' ? result.position : -1, verdict: 'skip' }
    const { candidates: few } = (await ask(`${place}/verdicts?buckets=7`, { json })).json
    expect(few).toHaveLength(7)
  })

  test('takes the first of two answers, the same one twice, and none about another position', async () => {
    const { ask, remote } = await sampled()
    const { id: name, result } = await remote.bisect(asked)
    const position = result.type === 'ask' ? result.position : -1
    const say = (verdict: string, at = position) =>
      ask(`${of}/bisections/${name}/verdicts`, { json: { position: at, verdict } })
    const both = await Promise.all([say('good'), say('bad')])
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]))
    const taken = both[0].status === 200 ? 'good' : 'bad'
    expect((await say(taken)).status).toBe(200)
    expect((await say(taken === 'good' ? 'bad' : 'good')).json).toMatchObject({ tag: 'NotAsked' })
    expect((await say('good', position === 3 ? 4 : 3)).status).toBe(409)
    expect((await remote.bisection(name)).verdicts.filter((one) => one.position === position)).toHaveLength(1)
  })

  test('reads the conversation once for each answer, however much it works out', async () => {
    const inner = memoryStore()
    let readings = 0
    const events: EventStore = {
      ...inner,
      read: (range) => {
        if (range.stream === 'conversation-a' && range.from === 0 && range.limit > 1) readings++
        return inner.read(range)
      },
    }
    const own = await openStore(events)
    atEnd(own.close)
    const scene = await serving({ store: own })
    const remote = clientOf(scene).conversation('a')
    await own.conversation('a').append(Array.from({ length: 9 }, () => ({ role: 'user', content: 'So.' })))
    const { id: name, result, probabilities } = await remote.bisect({ good: 0, bad: 8, reliability: 0.8 })
    expect(readings).toBe(1)
    const json = { position: result.type === 'ask' ? result.position : -1, verdict: 'good' }
    const said = await scene.ask(`conversations/a/bisections/${name}/verdicts`, { json })
    expect([said.status, readings]).toEqual([200, 2])
    for (const probability of probabilities) expect(String(probability).length).toBeLessThan(8)
  })

  test('is not disturbed by notes that only look like one', async () => {
    const { remote, chat } = await sampled()
    const kind = 'palimpsest/bisection'
    for (const data of [undefined, 'x', { good: 9, bad: 3, question: 'q', reliability: 1 }])
      await chat.note({ kind, ...(data !== undefined && { data }) })
    const { id: name, result } = await remote.bisect(asked)
    await chat.note({ kind: 'palimpsest/verdict', data: { bisection: name, position: 'x', verdict: 'y' } })
    expect(await remote.bisections()).toMatchObject([{ id: name, result }])
  })
})

test('what takes long waits for room, in order, and too much of it is refused', async () => {
  const inTurn = lane()
  const ends: (() => void)[] = []
  const begun: number[] = []
  const work = (n: number, leaving = new AbortController()): Promise<number> =>
    inTurn(
      () => leaving.signal,
      async () => {
        begun.push(n)
        await new Promise<void>((resolve) => ends.push(resolve))
        return n
      },
    )
  const leaving = new AbortController()
  const all = Array.from({ length: 33 }, (_, n) => work(n))
  const left = failure(work(33, leaving))
  await expect(work(99)).rejects.toMatchObject({ _tag: 'Overloaded' })
  expect(begun).toEqual([0, 1])
  leaving.abort()
  expect(await left).toMatchObject({ _tag: 'Ending' })
  const later = work(34)
  await expect(work(99)).rejects.toMatchObject({ _tag: 'Overloaded' })
  while (ends.length > 0) {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  expect(await Promise.all([...all, later])).toEqual(begun)
  expect(begun.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 33 }, (_, n) => n), 34])
  const waiting = [work(0), work(1)]
  await expect(work(2, leaving)).rejects.toMatchObject({ _tag: 'Ending' })
  for (const end of ends.splice(0)) end()
  expect(await Promise.all(waiting)).toEqual([0, 1])
})
