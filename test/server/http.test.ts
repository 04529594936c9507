import { Ajv2020 } from 'ajv/dist/2020.js'
import { Validator } from '@seriousme/openapi-schema-validator'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tell } from '../../src/conversation/beside/worker-log.ts'
import { openStore } from '../../src/index.ts'
import { orThrow, run } from '../../src/result/fallible.ts'
import { routes } from '../../src/server/routes/index.ts'
import { createAccessToken, revokeAccessToken, accessTokensIn } from '../../src/server/access-tokens.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { ended, startHeard } from '../support/node.ts'
import { parkStep } from '../support/park-step.ts'
import { type Asked, type Scene, serving } from '../support/server/asking.ts'
import { wiper } from '../support/server/wiper.ts'
import { temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'Hello.' }
const yes = { role: 'assistant', content: 'Yes.' }

/** A turn whose call waits for an approval. */
const wiping = {
  client: wiper,
  model: 'm',
  tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
  run: { wipe: { run: () => 'wiped', approve: true } },
} as const

/** A conversation `a` of three messages. */
const talking = async (settings?: Parameters<typeof serving>[0]): Promise<Scene> => {
  const scene = await serving(settings)
  await scene.store.conversation('a').append([hello, yes, { role: 'user', content: 'And then?' }] as never)
  return scene
}
const commands = 'conversations/a/commands'

test('a server whose file was removed is not ready, and says why', async () => {
  const path = join(temporaryFolder(), 'store.db')
  const store = await openStore(`sqlite:${path}`)
  atEnd(store.close)
  const [noted, faults] = [[] as (string | undefined)[], [] as unknown[]]
  const { fetch } = await talking({
    store,
    onReadiness: (problem) => noted.push(problem),
    onFault: (error) => faults.push(error),
  })
  expect(await (await fetch('/readyz')).json()).toEqual({ status: 'ready' })
  rmSync(path)
  let response = await fetch('/readyz')
  for (; response.ok; response = await fetch('/readyz')) await sleep(10)
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({
    tag: 'StoreReplaced',
    detail: expect.stringContaining(`${path} is no longer the one that was opened`) as string,
  })
  // One line in the log for each change, not for each probe.
  expect((await fetch('/readyz')).status).toBe(503)
  expect([noted, faults]).toEqual([[expect.stringContaining('restart a server or worker')], []])
  expect((await fetch('conversations/a')).status).toBe(503)
})

test('is not ready while its token file cannot be read, which is reported once', async () => {
  const file = join(temporaryFolder(), 'tokens.json')
  const token = createAccessToken(file, 'ann', ['read'])
  const [former, reported] = [readFileSync(file), [] as string[]]
  const tokens = accessTokensIn(file, ({ message }) => reported.push(message))
  const { fetch } = await serving({ authenticate: tokens, tokenProblem: tokens.problem })
  const headers = { authorization: `Bearer ${token}` }
  expect([(await fetch('/readyz')).status, (await fetch('conversations', { headers })).status]).toEqual([
    200, 200,
  ])
  for (const change of [() => writeFileSync(file, 'pal_'), () => rmSync(file)]) {
    change()
    for (const _ of [1, 2]) expect((await fetch('conversations', { headers })).status).toBe(401)
    const response = await fetch('/readyz')
    expect([response.status, await response.json()]).toMatchObject([503, { detail: reported.at(-1) }])
  }
  expect(reported.map((message) => message.slice(message.indexOf(': ') + 2))).toEqual([
    'is not JSON: put back a copy, or move it away and create every token again with palimpsest serve token create',
    'is missing: create it with palimpsest serve token create',
  ])
  writeFileSync(file, former)
  expect([(await fetch('/readyz')).status, (await fetch('conversations', { headers })).status]).toEqual([
    200, 200,
  ])
})

test('a token file keeps its rights', () => {
  const file = join(temporaryFolder(), 'tokens.json')
  createAccessToken(file, 'ann', ['read'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  chmodSync(file, 0o640)
  createAccessToken(file, 'bob', ['read'])
  expect(statSync(file).mode & 0o777).toBe(0o640)
})

test.skipIf(process.getuid?.() !== 0)(
  'a token file that root writes belongs to the owner of the former one, or of its folder (skipped for other users)',
  () => {
    const folder = temporaryFolder()
    chownSync(folder, 65_534, 65_534)
    const file = join(folder, 'tokens.json')
    createAccessToken(file, 'ann', ['read'])
    expect(statSync(file).uid).toBe(65_534)
    chownSync(file, 65_533, 65_533)
    createAccessToken(file, 'bob', ['read'])
    expect(statSync(file).uid).toBe(65_533)
  },
)

test('a token file that its own user may not read is named with the command that allows it', async () => {
  const folder = temporaryFolder()
  chmodSync(folder, 0o777)
  const child = startHeard('server/children/own-tokens.ts', join(folder, 'tokens.json'))
  expect((await ended(child)).output).toMatch(/with mode 0, .* may not read it: allow it \(chmod 600 \S+\)$/)
})

test('is not ready while nothing can be written', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const writeProblem = async () =>
    ({ _tag: 'StoreReadOnly', message: 'this user cannot write a.db', store: 'a.db' }) as const
  const { fetch } = await talking({ store, writeProblem })
  const response = await fetch('/readyz')
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ detail: 'this user cannot write a.db' })
})

describe('a conversation over HTTP', () => {
  test('is begun once, and found in the list', async () => {
    const { ask } = await serving()
    const begun = await ask('conversations', { json: { id: 'a', messages: [hello] } })
    expect(begun).toMatchObject({ status: 201, json: { id: 'a', position: 0 } })
    expect(begun.headers.get('location')).toBe('/api/v1/conversations/a')
    const again = await ask('conversations', { json: { id: 'a', messages: [hello] } })
    expect(again).toMatchObject({ status: 409, json: { tag: 'ConversationExists', conversation: 'a' } })
    const other = await ask('conversations', { json: { messages: [hello] } })
    const { json } = await ask('conversations?limit=1')
    expect(json).toMatchObject({ items: [{ id: other.json['id'] }], total: 2, matching: 2 })
    const rest = (await ask(`conversations?limit=1&cursor=${String(json['next'])}`)).json
    expect(rest).toMatchObject({ items: [{ id: 'a', title: 'Hello.', curve: [2] }] })
    expect(rest['next']).toBeUndefined()
    expect(await ask('conversations?cursor=no')).toMatchObject({ status: 400, json: { path: 'cursor' } })
    expect(await ask('conversations?cursor=:no')).toMatchObject({ status: 404 })
  })

  test('records the commit of the files with any command', async () => {
    const { ask, store } = await talking()
    const workspace = { kind: 'git', commit: '3f2a1c4', dirty: true }
    expect(await ask(commands, { json: { type: 'rewind', to: 0, after: 2, workspace } })).toMatchObject({
      status: 200,
    })
    const message = { messages: [hello], whileBusy: 'interrupt', workspace }
    expect(await ask('conversations/a/messages', { json: message })).toMatchObject({ status: 200 })
    const events = (await store.conversation('a').timeline()).map(({ event }) => event.metadata.workspace)
    expect(events).toEqual([undefined, undefined, undefined, workspace, workspace])
    const wrong = { ...workspace, commit: 'main' }
    expect(
      await ask(commands, { json: { type: 'rewind', to: 1, after: 4, workspace: wrong } }),
    ).toMatchObject({ status: 400, json: { path: 'workspace.commit' } })
  })

  test('is forked up to a position', async () => {
    const { ask } = await talking()
    const forked = await ask('conversations', { json: { id: 'b', from: { conversation: 'a', at: 1 } } })
    expect(forked).toMatchObject({ status: 201, json: { id: 'b', position: 2 } })
    const { json } = await ask('conversations/b/effective')
    expect(json['items']).toHaveLength(2)
    expect(await ask(commands, { json: { type: 'fork', id: 'c' } })).toMatchObject({ status: 200 })
    expect(await ask(commands, { json: { type: 'fork', id: 'c' } })).toMatchObject({ status: 409 })
    expect(await ask('conversations', { json: { id: 'd', from: { conversation: 'none' } } })).toMatchObject({
      status: 404,
    })
    expect(await ask('conversations', { json: { id: 'd' } })).toMatchObject({ status: 400 })
    // Nothing could ask for these: an address is cut at them before it is sent.
    for (const nowhere of ['.', '..'])
      expect(await ask(commands, { json: { type: 'fork', id: nowhere } })).toMatchObject({ status: 400 })
  })

  test('is read whole and in pages, as the library reads it', async () => {
    const { ask, store } = await talking()
    const chat = store.conversation('a')
    await chat.truncate({ covers: { first: 0, last: 1 } })
    const same = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    expect((await ask('conversations/a')).json).toMatchObject({ id: 'a', position: 3, items: 2 })
    expect((await ask('conversations/a/effective')).json['items']).toEqual(same(await chat.effective()))
    expect((await ask('conversations/a/effective?at=1&limit=1')).json).toMatchObject({
      at: 1,
      total: 2,
      next: 1,
    })
    expect((await ask('conversations/a/full')).json).toEqual({ at: 3, items: same(await chat.full()) })
    const newest = (await ask('conversations/a/full?last=1')).json
    expect(newest).toMatchObject({ items: [{ position: 3 }], next: 3 })
    const older = (await ask('conversations/a/full?last=3&before=3')).json
    expect(older).toMatchObject({ items: [{ position: 0 }, { position: 1 }, { position: 2 }] })
    expect(older).not.toHaveProperty('next')
    expect((await ask('conversations/a/request')).json).toMatchObject(same(await chat.render()) as object)
    expect((await ask('conversations/a/diff?from=2')).json).toEqual(same(await chat.diff({ from: 2 })))
    const page = await ask('conversations/a/events?from=1&limit=2')
    expect(page.json).toMatchObject({ last: 3, next: 3, items: [{ position: 1 }, { position: 2 }] })
    expect(page.headers.get('link')).toBe('<?from=3&limit=2>; rel="next", <?from=0&limit=1>; rel="prev"')
    expect((await ask('conversations/a/events/3')).json).toMatchObject({ type: 'Truncated' })
    expect((await ask('conversations/a/calls')).json).toEqual({ items: [] })
    expect(await ask('conversations/a/calls/2')).toMatchObject({
      status: 404,
      json: { tag: 'CallOutOfRange' },
    })
  })

  test('at a position stays what it is: a second look costs nothing', async () => {
    const { ask } = await talking()
    for (const path of ['effective?at=1', 'full?at=1', 'request?at=1', 'diff?from=0&to=1', 'events/1']) {
      const first = await ask(`conversations/a/${path}`)
      const etag = first.headers.get('etag') ?? ''
      await ask(commands, { json: { type: 'append', messages: [yes] }, headers: { 'if-match': '*' } })
      const again = await ask(`conversations/a/${path}`, { headers: { 'if-none-match': `W/"x", ${etag}` } })
      expect(again).toMatchObject({ status: 304, text: '' })
      expect((await ask(`conversations/a/${path}`, { headers: { 'if-none-match': '*' } })).status).toBe(304)
    }
    const other = await ask('conversations/a/effective?at=1&limit=1')
    expect(other.headers.get('etag')).not.toBe(
      (await ask('conversations/a/effective?at=1')).headers.get('etag'),
    )
  })

  test('says where it ends, and what was tried beside it', async () => {
    const { ask, store } = await talking()
    const chat = store.conversation('a')
    await chat.rewind({ to: 1 })
    const now = await ask('conversations/a')
    expect(now.json).toMatchObject({ position: 3, head: 1 })
    const abandoned = [{ first: 2, last: 2, by: 3 }]
    const branches = { abandoned, forks: [], isAll: true, indexed: 3, last: 3 }
    expect((await ask('conversations/a/branches')).json).toEqual(branches)
    expect((await ask('conversations/a/branches?at=2')).json).toMatchObject({ abandoned: [] })
    await chat.fork('b', { at: 0 })
    expect((await ask('conversations/a/branches')).json).toEqual({ ...branches, forks: [{ id: 'b', at: 0 }] })
    expect((await ask('conversations/b/branches')).json).toMatchObject({ abandoned: [], forks: [] })
    expect(await ask('conversations/none/branches')).toMatchObject({ status: 404 })
    const etag = now.headers.get('etag') ?? ''
    expect((await ask('conversations/a', { headers: { 'if-none-match': etag } })).status).toBe(304)
    const json = { type: 'append', messages: [hello] }
    expect((await ask(commands, { json, headers: { 'if-match': etag } })).status).toBe(200)
    const { metadata } = (await ask('conversations/a/events/4')).json as { readonly metadata: object }
    expect(metadata).toMatchObject({ prev: now.json['hash'] })
    expect(await ask(commands, { json, headers: { 'if-match': etag } })).toMatchObject({ status: 412 })
  })

  test('is of one position, whatever others write while it is read', async () => {
    const { ask, store } = await talking()
    const chat = store.conversation('a')
    await chat.say({ role: 'user', content: 'And now?' })
    const waits = store.conversation('w')
    await waits.append(hello as never)
    await waits.turn(wiping)
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      a: async () => {
        await chat.append(yes as never)
        await chat.rewind({ to: 1 })
        await chat.say({ role: 'user', content: 'Then this.' })
      },
      w: () =>
        waits.append({
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'wiped' }],
        }),
    }
    const racing = await serving({
      store: {
        ...store,
        conversation: (id) => {
          const its = store.conversation(id)
          const end = async () => {
            const found = await its.end()
            await writes[id]?.()
            return found
          }
          return { ...its, end }
        },
      },
    })
    for (const [id, { queued, waiting }] of Object.entries({
      a: { queued: 1, waiting: 0 },
      w: { queued: 0, waiting: 1 },
    })) {
      const before = await ask(`conversations/${id}`)
      expect(before.json).toMatchObject({ queued, waiting })
      expect((await racing.ask(`conversations/${id}`)).json).toEqual(before.json)
      expect((await ask(`conversations/${id}`)).json).toMatchObject({ queued: 0, waiting: 0 })
    }
  })

  test('takes notes and links', async () => {
    const { ask } = await talking()
    const json = { kind: 'title', data: 'Hello' }
    const headers = { 'idempotency-key': 'one' }
    const noted = await ask('conversations/a/notes', { json, headers })
    expect(noted).toMatchObject({ status: 200, json })
    expect((await ask('conversations/a/notes', { json, headers })).json['id']).toBe(noted.json['id'])
    expect((await ask('conversations/a/notes?kind=title&last=5')).json['items']).toHaveLength(1)
    await ask('conversations/a/links', { json: { relation: 'continues', conversation: 'b' } })
    expect((await ask('conversations/a/links')).json['items']).toMatchObject([{ relation: 'continues' }])
    expect(await ask('conversations/none/notes', { json })).toMatchObject({ status: 404 })
  })
})

test('a stream whose head alone is asked for is not begun', async () => {
  const { fetch } = await talking()
  const head = await fetch('conversations/a/events', {
    method: 'HEAD',
    headers: { accept: 'text/event-stream' },
  })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  await new Promise((resolve) => setImmediate(resolve))
  expect(await (await fetch('/metrics')).text()).toMatch(/streams 0\n/)
})

describe('a command', () => {
  const append = { type: 'append', messages: [hello] }

  test('says what it was decided on, or is not carried out', async () => {
    const { ask, store } = await talking()
    expect(await ask(commands, { json: append })).toMatchObject({ status: 428 })
    expect((await ask('conversations/a')).headers.get('etag')).toMatch(/^"r2\./)
    for (const asked of [
      { json: { ...append, after: 1 } },
      { json: append, headers: { 'if-match': '"r1"' } },
    ] satisfies Asked[])
      expect(await ask(commands, asked)).toMatchObject({
        status: 412,
        json: { tag: 'StaleContext', after: 1, last: 2, diff: '/api/v1/conversations/a/diff?from=1&to=2' },
      })
    const both = { json: { ...append, after: 2 }, headers: { 'if-match': '"r1"' } }
    expect(await ask(commands, both)).toMatchObject({ status: 400 })
    expect(await ask(commands, { json: append, headers: { 'if-match': 'r2' } })).toMatchObject({
      status: 400,
    })
    expect(await store.conversation('a').position()).toBe(2)
    const done = await ask(commands, { json: append, headers: { 'if-match': '"r2"' } })
    expect(done).toMatchObject({ status: 200, json: { conversation: 'a', position: 3 } })
    expect(done.headers.get('etag')).toBe('"r3"')
  })

  test('is carried out once under an id, which stands for it alone', async () => {
    const { ask, store } = await talking()
    const headers = { 'idempotency-key': 'k', 'if-match': '"r2"' }
    const first = await ask(commands, { json: append, headers })
    const again = await ask(commands, { json: append, headers })
    expect(again.json).toEqual(first.json)
    expect([first, again].map((got) => got.headers.get('idempotency-replayed'))).toEqual([null, 'true'])
    const other = { ...append, messages: [yes] }
    expect(await ask(commands, { json: other, headers })).toMatchObject({ status: 422 })
    expect(await ask(commands, { json: { ...append, commandId: 'l' }, headers })).toMatchObject({
      status: 400,
    })
    expect(await store.conversation('a').position()).toBe(3)
  })

  test('that was refused can be sent again under its id, decided again or changed', async () => {
    const { ask, store } = await talking()
    const sent = (json: object) => ask(commands, { json: { ...json, commandId: 'k' } })
    expect(await sent({ ...append, after: 1 })).toMatchObject({ status: 412 })
    expect(await sent({ type: 'undo', after: 2 })).toMatchObject({ status: 409 })
    expect(await sent({ ...append, after: 2 })).toMatchObject({ status: 200 })
    expect(await sent({ ...append, after: 3 })).toMatchObject({ status: 200, json: { position: 3 } })
    expect(await store.conversation('a').position()).toBe(3)
  })

  test.each([
    append,
    { type: 'configure', system: 'Be brief.' },
    { type: 'condense', summary: 'They met.', covers: { first: 0, last: 1 } },
    { type: 'truncate', covers: { first: 0, last: 1 } },
    { type: 'rewind', turns: 1 },
  ])('$type says in a dry run what it would write, and then writes that', async (json) => {
    const { ask, store } = await talking()
    const shown = async () => {
      const { estimated } = await store.conversation('a').tokens()
      const { items, tokens } = (await ask('conversations/a')).json
      const { awaits, repairs } = (await ask('conversations/a/request')).json
      const kinds = Map.groupBy(repairs as readonly { readonly kind: string }[], ({ kind }) => kind)
      const counts = Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]))
      return { items, tokens, estimated, awaits, repairs: counts }
    }
    const headers = { 'if-match': '"r2"' }
    const dry = await ask(`${commands}?dryRun=true`, { json, headers })
    const { position, events, before, after } = dry.json as Record<string, unknown>
    expect({ status: dry.status, position }).toEqual({ status: 200, position: 2 })
    expect(before).toEqual(await shown())
    await ask(commands, { json, headers })
    expect(after).toEqual(await shown())
    const { items } = (await ask('conversations/a/events?from=3')).json
    const written = items as readonly { readonly type: string; readonly data: object }[] | undefined
    expect(written?.map(({ type, data }) => ({ type, data }))).toEqual(events)
    const marker = { json: { type: 'restore', marker: 3 }, headers: { 'if-match': '*' } }
    const undo = { json: { type: 'undo' }, headers: { 'if-match': '*' } }
    expect((await ask(commands, json.type === 'truncate' ? marker : undo)).status).toBeLessThan(500)
  })

  test('a fork is refused in a dry run as it would be, answers the same, and is not written', async () => {
    const { ask, store } = await talking()
    await store.conversation('there').append({ role: 'user', content: 'Hello.' })
    const dry = async (fork: object) => ask(`${commands}?dryRun=true`, { json: { type: 'fork', ...fork } })
    expect(await dry({ id: 'there' })).toMatchObject({ status: 409, json: { tag: 'ConversationExists' } })
    expect(await dry({ id: 'a b' })).toMatchObject({ status: 400, json: { path: 'id' } })
    expect(await dry({ id: 'b', at: 99 })).toMatchObject({ status: 404, json: { tag: 'OutOfRange' } })
    for (const given of [{ id: 'b' }, { id: 'c', at: 1 }]) {
      const { json } = await dry(given)
      expect((await ask(`conversations/${given.id}`)).status).toBe(404)
      expect((await ask(commands, { json: { type: 'fork', ...given } })).json).toEqual(json)
    }
  })

  test('that cannot be carried out says why, as a problem', async () => {
    const { ask } = await talking()
    const headers = { 'if-match': '*' }
    const wrong = async (json: object) => (await ask(commands, { json, headers })).json
    expect(await wrong({ type: 'undo' })).toMatchObject({
      type: 'urn:palimpsest:nothing-to-undo',
      title: 'Nothing to undo',
      status: 409,
      tag: 'NothingToUndo',
    })
    expect(await wrong({ type: 'rewind', to: 99 })).toMatchObject({ status: 404, tag: 'OutOfRange', last: 2 })
    expect(await wrong({ type: 'restore', marker: 1 })).toMatchObject({ status: 409, tag: 'NotShown' })
    expect(await wrong({ type: 'rewind', turn: 1 })).toMatchObject({ status: 400, path: 'turn' })
    expect(await wrong({ type: 'erase' })).toMatchObject({ status: 400, path: 'type' })
    expect(await ask('conversations/none/commands', { json: { type: 'undo' }, headers })).toMatchObject({
      status: 404,
    })
    expect(await ask('conversations/a%20b', {})).toMatchObject({ status: 400, json: { path: 'id' } })
  })
})

describe('people and workers', () => {
  test('what the user says is recorded, and workers are asked', async () => {
    const { ask } = await serving()
    const said = await ask('conversations/a/messages', { json: { messages: [hello], answer: true } })
    expect(said).toMatchObject({ status: 200, json: { status: 'recorded', conversation: 'a', position: 0 } })
    const queued = await ask('conversations/a/messages', { json: { messages: [hello] } })
    expect(queued).toMatchObject({ status: 202, json: { status: 'queued', conversation: 'a' } })
    expect((await ask('steps?state=open')).json['items']).toMatchObject([{ conversation: 'a', attempt: 0 }])
    expect((await ask('workers')).json).toEqual({ claims: 0, items: [] })
    for (const word of ['pause', 'resume', 'request', 'cancel'])
      expect(await ask(`conversations/a/${word}`, { json: {} })).toMatchObject({ status: 200 })
    expect(await ask('conversations/a/retry', { json: {} })).toMatchObject({
      status: 409,
      json: { tag: 'NotParked', conversation: 'a' },
    })
    const asked = await ask('conversations/a/turns', { json: { messages: [hello] } })
    expect(asked.text).toContain('event: asked\ndata: {"conversation":"a","position":1,')
    const told = { conversation: 'a', event: { type: 'text', index: 0, text: 'Yes' } }
    expect(await ask('relay', { json: { worker: 'w', events: [told] } })).toMatchObject({ status: 200 })
    const unknown = { conversation: 'a', event: { type: 'done' } }
    expect(await ask('relay', { json: { worker: 'w', events: [unknown] } })).toMatchObject({ status: 400 })
    for (const word of ['pause', 'resume'])
      expect(await ask(`workers/none/${word}`, { json: {} })).toMatchObject({ status: 404 })
  })

  test('the reason that a body gives is recorded, whatever takes one', async () => {
    const adapter = memoryStore()
    const { ask, store } = await serving({ store: await openStore(adapter) })
    for (const id of ['a', 'approved']) {
      await store.conversation(id).append(hello as never)
      await store.conversation(id).turn(wiping)
    }
    await store.conversation('approved').approve('call_1', { by: 'ann' })
    const beat = { type: 'WorkerBeat', data: { slots: 1, busy: 0 } } as const
    await orThrow(run(tell(adapter, { kind: 'program' }, 'w-1', beat)))
    await parkStep(adapter, 'parked')
    const ids: Readonly<Record<string, string>> = { withdraw: 'approved', retry: 'parked', erase: 'erased' }
    await store.conversation('erased').append(hello as never)
    const taking = routes.filter(({ body }) => body instanceof z.ZodObject && 'reason' in body.shape)
    expect(taking.length).toBeGreaterThan(6)
    for (const { name, path } of taking) {
      const filled = path
        .replace('{id}', ids[name] ?? 'a')
        .replace('{worker}', 'w-1')
        .replace('{call}', 'call_1')
        .slice(1)
      expect((await ask(filled, { json: { reason: `why ${name}` } })).status).toBe(200)
    }
    const { events } = await orThrow(adapter.readAll({ limit: 1_000 }))
    const recorded = events.flatMap(({ data }) => {
      type Reason = { readonly reason?: string }
      const fact = JSON.parse(data) as Reason & { readonly withdrawn?: Reason; readonly data?: Reason }
      return fact.reason ?? fact.withdrawn?.reason ?? fact.data?.reason ?? []
    })
    expect(recorded).toEqual(expect.arrayContaining(taking.map(({ name }) => `why ${name}`)))
  })

  test('a call that waits is approved or denied once, by the one whose token it is', async () => {
    const { ask, store } = await serving()
    const chat = store.conversation('a')
    await chat.append(hello as never)
    await chat.turn(wiping)
    expect((await ask('conversations/a/waiting')).json['items']).toMatchObject([
      { call: 'call_1', why: 'approval' },
    ])
    const denied = await ask('conversations/a/waiting/call_1/deny', { json: { reason: 'no' } })
    expect(denied.json).toMatchObject({ call: 'call_1', decision: 'denied', by: 'user' })
    expect(await ask('conversations/a/waiting/call_1/approve', { json: {} })).toMatchObject({ status: 409 })
    const fork = await chat.fork('fork')
    await fork.turn(wiping)
    expect((await ask('conversations/fork/waiting')).json['items']).toMatchObject([{ call: 'call_1' }])
    for (const [word, json] of [
      ['approve', { decision: 'approved', by: 'user' }],
      ['withdraw', { decision: 'withdrawn', by: 'user' }],
    ] as const)
      expect(await ask(`conversations/fork/waiting/call_1/${word}`, { json: {} })).toMatchObject({ json })
    expect(await ask('conversations/fork/waiting/call_1/withdraw', { json: {} })).toMatchObject({
      status: 409,
      json: { tag: 'NotWithdrawn' },
    })
    expect(await ask('conversations/a/waiting/call_2/approve', { json: {} })).toMatchObject({
      status: 409,
      json: { tag: 'NotWaiting' },
    })
  })
})

describe('a request', () => {
  const file = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
    atEnd(() => rmSync(folder, { recursive: true, force: true }))
    return join(folder, 'tokens.json')
  }
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

  test('needs a token with the scope of what it asks for, until that is revoked', async () => {
    const tokens = file()
    const [ann, bob] = [
      createAccessToken(tokens, 'ann', ['read', 'write']),
      createAccessToken(tokens, 'bob', ['read']),
    ]
    const { ask } = await talking({ authenticate: accessTokensIn(tokens) })
    const nobody = await ask('conversations')
    expect(nobody).toMatchObject({ status: 401, json: { tag: 'Unauthorized' } })
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer')
    expect(await ask('conversations', bearer('pal_no'))).toMatchObject({ status: 401 })
    expect(await ask('conversations', bearer(bob))).toMatchObject({ status: 200 })
    const json = { type: 'append', messages: [yes], after: 2 }
    expect(await ask(commands, { json, ...bearer(bob) })).toMatchObject({
      status: 403,
      json: { scope: 'write' },
    })
    expect(await ask(commands, { json, ...bearer(ann) })).toMatchObject({ status: 200 })
    expect((await ask('conversations/a/events/3', bearer(bob))).json['metadata']).toMatchObject({
      actor: { kind: 'user', id: 'ann' },
    })
    expect(await ask('/metrics')).toMatchObject({ status: 401 })
    expect(await ask('/healthz')).toMatchObject({ status: 200 })
    revokeAccessToken(tokens, 'bob')
    expect(await ask('conversations', bearer(bob))).toMatchObject({ status: 401 })
    rmSync(tokens)
    expect(await ask('conversations', bearer(ann))).toMatchObject({ status: 401 })
  })

  test('of a page has a cookie, for as long as the token is valid', async () => {
    const tokens = file()
    const ann = createAccessToken(tokens, 'ann', ['read'])
    const { ask } = await talking({ authenticate: accessTokensIn(tokens) })
    expect(await ask('session', { json: { token: 'pal_no' } })).toMatchObject({ status: 401 })
    const { headers } = await ask('session', { json: { token: ann } })
    const cookie = headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(cookie).not.toContain(ann)
    const proxied = await ask('session', { json: { token: ann }, headers: { origin: 'https://localhost' } })
    expect(proxied.headers.get('set-cookie')).toMatch(/; HttpOnly; Secure; SameSite=Strict$/)
    const asked = { headers: { cookie: cookie.split(';')[0] ?? '' } }
    expect(await ask('conversations', asked)).toMatchObject({ status: 200 })
    revokeAccessToken(tokens, 'ann')
    expect(await ask('conversations', asked)).toMatchObject({ status: 401 })
  })

  test('takes a token, and nothing larger from whoever has none', async () => {
    const { ask } = await talking({ authenticate: () => undefined })
    const json = { token: 'x'.repeat(4_097) }
    expect(await ask('session', { json })).toMatchObject({ status: 413, json: { tag: 'BodyTooLarge' } })
  })

  test('is who has asked for an answer', async () => {
    const tokens = file()
    const ann = createAccessToken(tokens, 'ann', ['read', 'write'])
    const { ask, store } = await talking({ authenticate: accessTokensIn(tokens) })
    const headers = { authorization: `Bearer ${ann}` }
    expect(await ask('conversations/a/request', { json: {}, headers })).toMatchObject({ status: 200 })
    const actors = []
    for await (const { type, metadata } of store.conversation('a').turnFacts())
      if (type === 'TurnRequested') actors.push(metadata.actor)
    expect(actors).toEqual([{ kind: 'user', id: 'ann' }])
  })

  test('says to whom it asks what he may do here', async () => {
    const tokens = file()
    const ann = createAccessToken(tokens, 'ann', ['read'])
    const { ask } = await talking({ authenticate: accessTokensIn(tokens), isReadOnly: true })
    expect(await ask('session')).toMatchObject({ status: 401 })
    expect((await ask('session', { headers: { authorization: `Bearer ${ann}` } })).json).toEqual({
      by: 'ann',
      scopes: ['read'],
      isReadOnly: true,
      store: 'memory:',
    })
  })

  test('says with every answer what he may do here', async () => {
    const access = async (scopes: readonly ['read'] | readonly ['read', 'write'], isReadOnly: boolean) => {
      const tokens = file()
      const authorization = `Bearer ${createAccessToken(tokens, 'ann', scopes)}`
      const { ask } = await talking({ authenticate: accessTokensIn(tokens), isReadOnly })
      return (await ask('conversations/a', { headers: { authorization } })).headers.get('palimpsest-access')
    }
    expect(await access(['read'], false)).toBe('read')
    expect(await access(['read', 'write'], true)).toBe('read write; read-only')
  })

  test('to a server that only reads writes nothing', async () => {
    const { ask, store } = await talking({ isReadOnly: true })
    for (const route of routes.filter(({ scope }) => scope === 'write' || scope === 'erase'))
      expect(await ask(route.path.slice(1).replaceAll(/\{\w+\}/g, 'a'), { json: {} })).toMatchObject({
        status: 403,
        json: { tag: 'ReadOnly' },
      })
    expect(await store.conversation('a').position()).toBe(2)
  })

  test('by another name, or from a page of another origin, is refused', async () => {
    const { ask } = await talking({ hosts: ['agents.example'] })
    const headers = (more: Record<string, string>) => ({ headers: more })
    expect(await ask('conversations', headers({ host: 'evil.example' }))).toMatchObject({ status: 403 })
    expect(await ask('conversations', headers({ host: 'agents.example:80' }))).toMatchObject({ status: 200 })
    expect(await ask('conversations', headers({ host: '[::1]:4141' }))).toMatchObject({ status: 200 })
    const json = { type: 'undo' }
    for (const origin of ['http://evil.example', 'null', 'http://localhost:81'])
      expect(await ask(commands, { json, headers: { origin } })).toMatchObject({
        status: 403,
        json: { tag: 'OriginRefused' },
      })
    expect(await ask(commands, { json, headers: { 'sec-fetch-site': 'cross-site' } })).toMatchObject({
      status: 403,
    })
    expect(await ask(commands, { json, headers: { origin: 'http://localhost' } })).toMatchObject({
      status: 428,
    })
  })

  test('that is not what it should be gets a problem', async () => {
    const { ask } = await talking({ maxBody: 1_000 })
    expect(await ask(commands, { text: '{' })).toMatchObject({ status: 400 })
    expect(await ask(commands, { text: 'a=1', headers: { 'content-type': 'text/plain' } })).toMatchObject({
      status: 415,
    })
    expect(await ask(commands, { json: { pad: 'x'.repeat(2_000) } })).toMatchObject({
      status: 413,
      json: { limit: 1_000 },
    })
    expect(await ask('conversations?limit=0')).toMatchObject({ status: 400, json: { path: 'limit' } })
    expect(await ask('conversations?limit=1&limit=2')).toMatchObject({ status: 400 })
    expect(await ask('conversations?page=2')).toMatchObject({ status: 400, json: { path: 'page' } })
    expect(await ask('nothing')).toMatchObject({ status: 404 })
    const wrong = await ask('conversations/a', { method: 'DELETE' })
    expect({ status: wrong.status, allow: wrong.headers.get('allow') }).toEqual({ status: 405, allow: 'GET' })
  })

  test.each([
    [undefined, 200],
    ['*/*', 200],
    ['text/*;q=0.5', 200],
    ['text/event-stream', 200],
    ['application/json', 406],
    ['text/html, application/json', 406],
  ])('for what is only a stream, with Accept: %s, is answered with %i', async (accept, status) => {
    const { ask } = await talking()
    const headers = accept === undefined ? {} : { accept }
    expect(await ask('events', { headers })).toMatchObject({ status })
    const json = { messages: [{ role: 'user', content: 'Why?' }] }
    expect(await ask('conversations/a/turns', { headers, json })).toMatchObject({ status })
    const { json: after } = await ask('conversations/a')
    const { json: before } = await (await talking()).ask('conversations/a')
    // What is refused has appended nothing.
    expect(Number(after['position']) - Number(before['position'])).toBe(status === 200 ? 1 : 0)
  })

  test('gets headers with which a page cannot do more than it should', async () => {
    const { ask } = await talking()
    for (const path of ['conversations/a', 'nothing', '/healthz']) {
      const { headers } = await ask(path)
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toContain('no-cache')
    }
  })

  test('of Prometheus is answered with the steps of workers by state', async () => {
    const { ask, store } = await talking()
    await store.conversation('b').append({ role: 'user', content: 'Hi.' }, { answer: true })
    const { text } = await ask('/metrics')
    expect(text).toContain('palimpsest_steps{state="open"} 1\npalimpsest_steps{state="claimed"} 0\n')
    expect(text).toContain('palimpsest_steps{state="parked"} 0\n')
    expect(text).toMatch(/^palimpsest_oldest_open_step_seconds [\d.]+$/m)
  })

  test('is counted by its route, never by its conversation', async () => {
    const { ask } = await talking()
    await ask('conversations/a')
    const { text } = await ask('/metrics')
    expect(text).toContain(
      'palimpsest_requests_total{method="GET",route="/api/v1/conversations/:id",status="200"} 1',
    )
    expect(text).not.toContain('conversations/a')
  })
})

describe('the document', () => {
  test('is OpenAPI 3.1, and refers to nothing that there is not', async () => {
    const { fetch } = await serving()
    const document = (await (await fetch('openapi.json')).json()) as Record<string, unknown>
    const { valid, errors } = await new Validator().validate(document)
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
    const text = JSON.stringify(document)
    const { components } = document as { components: { schemas: object } }
    const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
    expect(names.filter((name) => !Object.keys(components.schemas).includes(name ?? ''))).toEqual([])
  })

  interface Operation {
    readonly parameters: readonly { readonly name: string; readonly in: string }[]
    readonly responses: Readonly<
      Record<string, { readonly content: Readonly<Record<string, Readonly<Record<string, object>>>> }>
    >
  }
  interface Document {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: object
  }
  const documented = async ({ fetch }: Pick<Scene, 'fetch'>): Promise<Document> =>
    (await (await fetch('openapi.json')).json()) as Document

  test('takes a list as one text or as several values, and anything else once', async () => {
    const { ask, store } = await serving()
    await store.conversation('a').append({ role: 'user', content: 'One.' })
    const one = await ask('conversations/a/events?fields=id,type')
    const several = await ask('conversations/a/events?fields=id&fields=type')
    expect(several.json).toEqual(one.json)
    expect((await ask('conversations/a/events?limit=1&limit=2')).status).toBe(400)
  })

  test('names the headers that operations read, and the session', async () => {
    const { paths } = await documented(await serving())
    const headersOf = (path: string, method: string): readonly string[] =>
      (paths[`/api/v1${path}`]?.[method]?.parameters ?? []).flatMap((parameter) =>
        parameter.in === 'header' ? parameter.name : [],
      )
    expect(headersOf('/events', 'get')).toEqual(['Last-Event-ID'])
    expect(headersOf('/conversations/{id}/events', 'get')).toEqual(['Last-Event-ID', 'If-None-Match'])
    expect(headersOf('/conversations/{id}/events/{position}/blocks/{index}', 'get')).toEqual([
      'If-None-Match',
      'Range',
      'If-Range',
    ])
    expect(headersOf('/conversations/{id}/turns', 'post')).toEqual(['If-Match', 'Last-Event-ID'])
    expect(headersOf('/conversations/{id}/commands', 'post')).toEqual(['If-Match', 'Idempotency-Key'])
    expect(Object.keys(paths['/api/v1/session'] ?? {})).toEqual(['get', 'post'])
  })

  test('has a schema for the data of every type of event', async () => {
    const { store, ask, fetch } = await serving()
    const { components } = await documented({ fetch })
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const isEvent = ajv.compile({ $ref: '#/components/schemas/Event', components })
    await store.conversation('a').append([hello as never])
    await store.conversation('a').rewind({ to: -1 })
    const { json } = await ask('conversations/a/events/1')
    expect([json['type'], isEvent(json)]).toEqual(['Rewound', true])
    expect(isEvent({ ...json, data: {} })).toBe(false)
    expect(isEvent({ ...json, type: 'Shredded' })).toBe(false)
  })

  test.each([
    ['/conversations/{id}/events', 'get', 'conversations/a/events?after=-1'],
    ['/events', 'get', 'events'],
    ['/conversations/{id}/turns', 'post', 'conversations/a/turns'],
  ])('has a schema for the messages of %s', async (path, method, url) => {
    const scene = await serving({ unservedAfter: 0 })
    await scene.store.conversation('a').append([hello as never])
    const { paths, components } = await documented(scene)
    const schema =
      paths[`/api/v1${path}`]?.[method]?.responses['200']?.content['text/event-stream']?.['x-itemSchema']
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const isMessage = ajv.compile({ ...schema, components })
    const headers = { accept: 'text/event-stream' }
    const { body } = await scene.fetch(url, method === 'post' ? { json: {}, headers } : { headers })
    const messages: object[] = []
    let text = ''
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string])
        const { data, retry: _, ...message } = Object.fromEntries(fields)
        if (data !== undefined || message['id'] !== undefined)
          messages.push({ ...message, ...(data !== undefined && { data: JSON.parse(data) as unknown }) })
      }
      if (messages.length >= (path === '/events' ? 1 : 2)) break
    }
    for (const message of messages) expect(isMessage(message) ? [] : isMessage.errors).toEqual([])
    expect(isMessage({ ...messages[0], data: { position: 'x' } })).toBe(false)
  })
})

test('the tokens at a position are those that a reply reports, and its text is estimated only where none does', async () => {
  const { ask, store } = await serving()
  const usage = {
    input_tokens: 12,
    cache_read_input_tokens: 68_000,
    cache_creation_input_tokens: 500,
    output_tokens: 88,
  }
  const origin = { provider: 'anthropic', model: 'm', usage, stopReason: 'end_turn' }
  await store.conversation('measured').append([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Good morning.', origin },
    { role: 'user', content: 'And now?' },
  ])
  const at = async (position: number) =>
    (await ask(`conversations/measured/effective?at=${position}&tokens=true`)).json
  expect(await at(1)).toMatchObject({ tokens: 68_600, estimated: 0 })
  const { tokens, estimated } = await at(2)
  expect([tokens, Number(estimated) > 0]).toEqual([68_600 + Number(estimated), true])
  expect((await ask('conversations/measured')).json).toMatchObject({ tokens })
  expect((await ask('conversations/measured/effective')).json).not.toHaveProperty('tokens')
})
