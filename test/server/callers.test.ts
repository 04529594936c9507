import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { exportsOf } from '../audit/ledger/scene.ts'
import { atEnd } from '../support/at-end.ts'
import { serving } from '../support/server/asking.ts'
import { patient, temporaryFolder, temporaryServer } from '../support/stores.ts'

// Callers who ask audits and investigations for what there is not, too often, or leave.

const [id] = sampleIds
const of = `conversations/${id}`

const sampled = async (url: string): Promise<Store> => {
  const store = await openStore(url)
  atEnd(store.close)
  await loadSample(store)
  return store
}

/** With nine messages under the sample's id: what is asked many times is asked of few events. */
const talked = async (url: string): Promise<Store> => {
  const store = await openStore(url)
  atEnd(store.close)
  await store.conversation(id).append(Array.from({ length: 9 }, () => ({ role: 'user', content: 'So.' })))
  return store
}

/** A folder for temporary files of this test alone. */
const watched = (): string => {
  const folder = temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  atEnd(() => void vi.unstubAllEnvs())
  return folder
}

/** The files below a folder that this process has open; on other systems nobody can tell. */
const openBelow = (folder: string): readonly string[] =>
  process.platform !== 'linux'
    ? []
    : readdirSync('/proc/self/fd').flatMap((fd) => {
        try {
          const path = readlinkSync(`/proc/self/fd/${fd}`)
          return path.startsWith(folder) ? [path] : []
        } catch {
          return []
        }
      })

const reads = [
  'audit',
  'cost',
  ...['audit', 'verification', 'cache', 'cost', 'bisections'].map((path) => `${of}/${path}`),
]
const none = '99999999999999999999'

describe.each([
  ['memory', async () => 'memory:'],
  ['EventStoreDB', async () => (await temporaryServer()).url + patient],
])('on %s, audits and investigations', (_, place) => {
  test('refuse what is no call, no bisection and no number, and write nothing', async () => {
    const store = await sampled(await place())
    const { fetch, ask } = await serving({ store })
    const chat = store.conversation(id)
    const before = [await chat.position(), (await chat.notes()).length]
    for (const path of reads) {
      expect((await fetch(`${path}?x=1`)).status).toBe(400)
      expect((await fetch(`${path}?x=1&x=2`)).status).toBe(400)
      expect(await ask(path, { headers: { 'if-none-match': '*' } })).toMatchObject({ status: 200 })
      expect(await fetch(path, { method: 'HEAD' }).then((it) => it.text())).toBe('')
      for (const method of ['PUT', 'DELETE'] as const) {
        const answer = await fetch(path, { method })
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, expect.stringContaining('GET')])
      }
    }
    for (const call of ['0', '-1', '1.5', '1e3', 'p3', none, '9007199254740993', '24', '%00', '%F0%9F%98'])
      expect([call, (await fetch(`${of}/calls/${call}/why`)).status]).toEqual([
        call,
        call === '24' ? 404 : expect.toBeOneOf([400, 404]),
      ])
    for (const bisection of ['x', '%00', '..%2f', 'a'.repeat(201), '\u{1F600}'])
      expect([400, 404]).toContain((await fetch(`${of}/bisections/${bisection}`)).status)
    const far = Number(none)
    const wrong: readonly (readonly [string, unknown])[] = [
      ...[[], 'x', null, 3, { policy: [] }, { policy: { context: { window: -1 } } }, { prices: {} }].map(
        (json) => ['replay', json] as const,
      ),
      ...[
        {},
        { good: 0 },
        { good: -2, bad: 3 },
        { good: 40, bad: 10 },
        { good: 3, bad: 3 },
        { good: 0, bad: far },
        { good: 0, bad: 2 ** 52 },
        { good: 0.5, bad: 3 },
        { good: 0, bad: 3, reliability: 2 },
        { good: 0, bad: 3, question: '' },
        { good: 0, bad: 3, question: 'x'.repeat(1_001) },
      ].map((json) => ['bisections', json] as const),
      ...[
        { calls: { first: 0, last: 1 } },
        { calls: { first: 3, last: 2 } },
        { calls: { first: 1, last: 2 ** 52 } },
        { calls: { first: -3, last: far } },
        { withhold: [-1] },
        { withhold: [2 ** 52] },
        { withhold: [49] },
        { withhold: Array.from({ length: 10_001 }, () => 1) },
        { reason: '' },
        { by: 'somebody else' },
      ].map((json) => ['evidence', json] as const),
    ]
    for (const [path, json] of wrong)
      expect([path, json, (await fetch(`${of}/${path}`, { json })).status]).toEqual([
        path,
        json,
        expect.toBeOneOf([400, 404]),
      ])
    expect([await chat.position(), (await chat.notes()).length]).toEqual(before)
    expect(await exportsOf(store)).toEqual([])
  })

  test('take one of many verdicts at the same time, and record it once', async () => {
    const store = await talked(await place())
    const { ask } = await serving({ store })
    const { json } = await ask(`${of}/bisections`, { json: { good: 0, bad: 8, question: '\ud800?' } })
    const { position } = json['result'] as { position: number }
    const all = await Promise.all(
      Array.from({ length: 32 }, (__, n) =>
        ask(`${of}/bisections/${String(json['id'])}/verdicts`, {
          json: { position, verdict: n % 2 ? 'good' : 'bad' },
        }),
      ),
    )
    const taken = all.filter(({ status }) => status === 200)
    expect(taken).toHaveLength(16)
    expect(all.filter(({ status }) => status === 409)).toHaveLength(16)
    const notes = await store.conversation(id).notes({ kind: 'palimpsest/verdict' })
    expect(notes).toHaveLength(1)
  })

  test('export for as many as there is room for, and record no more', async () => {
    const store = await talked(await place())
    const { fetch } = await serving({ store })
    const temporary = watched()
    const all = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const answer = await fetch(`${of}/evidence`, { json: {} })
        await answer.arrayBuffer()
        return answer.status
      }),
    )
    expect(all.filter((status) => status === 200)).toHaveLength(34)
    expect(all.filter((status) => status === 503)).toHaveLength(30)
    expect(await exportsOf(store)).toHaveLength(34)
    expect([readdirSync(temporary), openBelow(temporary)]).toEqual([[], []])
  })
})

describe('a caller who leaves', () => {
  /** Begins an export at a server with a port. */
  const exporting = (url: string, name: string) => {
    const sent = request(`${url}/api/v1/conversations/${name}/evidence`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    sent.on('error', () => {})
    sent.end('{}')
    return sent
  }

  test('in the middle of an archive leaves no file behind, and none open', async () => {
    const store = await sampled('memory:')
    const large = store.conversation('large')
    for (let n = 0; n < 40; n++)
      await large.append({ role: 'user', content: randomBytes(500_000).toString('base64') })
    const server = await serve({ store, port: 0 })
    atEnd(server.close)
    const temporary = watched()
    const sent = exporting(server.url, 'large')
    const [answer] = await once(sent, 'response')
    await once(answer, 'data')
    answer.pause()
    expect(readdirSync(temporary)).toHaveLength(1)
    sent.destroy()
    await expect.poll(() => readdirSync(temporary)).toEqual([])
    await expect.poll(() => openBelow(temporary)).toEqual([])
  })

  test('while an export waits for room is not in its way, and is recorded as no export', async () => {
    const store = await sampled('memory:')
    const held = Promise.withResolvers<void>()
    let begun = 0
    const holding: Store = {
      ...store,
      conversation: (name) => {
        const chat = store.conversation(name)
        return {
          ...chat,
          evidence: async (options) => {
            begun++
            await held.promise
            return chat.evidence(options)
          },
        }
      },
    }
    const server = await serve({ store: holding, port: 0 })
    atEnd(server.close)
    const taken = [exporting(server.url, id), exporting(server.url, id)].map(async (sent) => {
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      for await (const _ of answer.resume());
      return answer.statusCode
    })
    await expect.poll(() => begun).toBe(2)
    const left = Array.from({ length: 33 }, () => exporting(server.url, id))
    // The first that finds no room: the others wait.
    const [full] = (await Promise.race(left.map((sent) => once(sent, 'response')))) as [IncomingMessage]
    expect(full.resume().statusCode).toBe(503)
    for (const sent of left) sent.destroy()
    const after = exporting(server.url, id)
    held.resolve()
    const [answer] = (await once(after, 'response')) as [IncomingMessage]
    expect(answer.resume().statusCode).toBe(200)
    expect(await Promise.all(taken)).toEqual([200, 200])
    expect(await exportsOf(store)).toHaveLength(3)
  })
})
