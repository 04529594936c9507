import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'
import { program, shell } from './palimpsest.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** A server whose n-th reply says `reply n`, in two pieces. */
const modelServer = async (before: (request: IncomingMessage) => Promise<void> = async () => {}) => {
  const seen: string[] = []
  const handle: Handler = (request, response, count) => {
    const message = {
      type: 'message',
      id: `msg_${count}`,
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [{ type: 'text', text: `reply ${count}` }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    const body = JSON.stringify(message)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(body.slice(0, 20))
    setImmediate(() => response.end(body.slice(20)))
  }
  const server = createServer(async (request, response) => {
    request.resume()
    await once(request, 'end')
    await before(request)
    handle(request, response, seen.push(request.url ?? ''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

interface Recorder {
  readonly url: string
  readonly child: ChildProcess
  /** Ends it, and returns its standard error. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<string>
}

const startRecorder = async (
  store: string,
  upstream: string,
  { args = [], limit }: { readonly args?: readonly string[]; readonly limit?: number } = {},
): Promise<Recorder> => {
  const command = [await program(), 'record', '--store', store, '--upstream', upstream, ...args]
  const node = [process.execPath, ...command]
  const [name = '', ...rest] =
    limit === undefined ? node : ['bash', '-c', `ulimit -f ${limit}; exec "$@"`, 'bash', ...node]
  const child = spawn(name, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  atEnd(() => child.kill('SIGKILL'))
  const said = text(child.stderr)
  const [piece] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: /ANTHROPIC_BASE_URL=(\S+)/.exec(piece.toString())?.[1] ?? '',
    child,
    stop: async (signal = 'SIGTERM') => {
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
      return said
    },
  }
}

/** A conversation that asks once more with each call. */
const createClient = (session: string, length = 20) => {
  const messages: { role: string; content: unknown }[] = []
  return async (url: string): Promise<{ readonly status: number; readonly said: string }> => {
    messages.push({ role: 'user', content: `question ${messages.length} ${'x'.repeat(length)}` })
    const response = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-claude-code-session-id': session },
      body: JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 100, messages }),
    })
    const said = await response.text()
    if (response.status !== 200) return { status: response.status, said }
    const { content } = JSON.parse(said) as { readonly content: readonly { readonly text: string }[] }
    messages.push({ role: 'assistant', content })
    return { status: 200, said: content[0]?.text ?? '' }
  }
}

/** The replies that a conversation has, each with whether its request can be made again to the byte. */
const repliesIn = async (url: string, id: string): Promise<readonly string[]> => {
  const store = await openStore(url)
  try {
    if (!(await idsIn(store)).includes(id)) return []
    const chat = store.conversation(id)
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
    const replies: string[] = []
    for await (const { type, data } of chat.events()) {
      if (type !== 'MessageAppended' || !data.origin) continue
      const [block] = data.content as readonly { readonly text?: string }[]
      replies.push(block?.text ?? '')
    }
    return replies
  } finally {
    await store.close()
  }
}

const idsIn = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  return ids
}

const spooled = (file: string): number =>
  existsSync(`${file}-spool`)
    ? readdirSync(`${file}-spool`, { recursive: true }).filter((name) => String(name).endsWith('.call'))
        .length
    : 0

describe('a recorder in trouble', () => {
  it('is killed while another program holds the store: the next start records what was waiting, and nothing is erased before', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = `sqlite:${file}`
    const { url: upstream } = await modelServer()
    const ask = createClient('held')
    const first = await startRecorder(`${store}?timeout=600000`, upstream)
    expect(await ask(first.url)).toEqual({ status: 200, said: 'reply 1' })
    await expect.poll(async () => (await repliesIn(store, 'recorded-held')).length, poll).toBe(1)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    for (const said of ['reply 2', 'reply 3', 'reply 4'])
      expect(await ask(first.url)).toEqual({ status: 200, said })
    await expect.poll(() => spooled(file), poll).toBe(3)
    await first.stop('SIGKILL')
    other.exec('ROLLBACK')
    other.close()
    const refused = await shell(
      `palimpsest erase recorded-held --yes --json --store ${store}`,
      temporaryFolder(),
    )
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { _tag: 'CallsWait', calls: 3 } })
    const next = await startRecorder(store, upstream)
    expect(await ask(next.url)).toEqual({ status: 200, said: 'reply 5' })
    expect(await next.stop()).toMatch(/^recorded 4 calls in 1 conversation/)
    expect(await repliesIn(store, 'recorded-held')).toEqual([
      'reply 1',
      'reply 2',
      'reply 3',
      'reply 4',
      'reply 5',
    ])
    expect(existsSync(`${file}-spool`)).toBe(false)
  })

  it('is killed at any moment: of what had reached a file or the store, nothing is lost, and nothing recorded twice', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = `sqlite:${file}`
    const { url: upstream } = await modelServer()
    for (let round = 0; round < 3; round++) {
      const ask = createClient(`round-${round}`, 2_000)
      const recorder = await startRecorder(store, upstream)
      const replies: string[] = []
      for (let count = 0; count < 4 + 5 * round; count++) replies.push((await ask(recorder.url)).said)
      await recorder.stop('SIGKILL')
      const [before, left] = [await repliesIn(store, `recorded-round-${round}`), spooled(file)]
      await (await startRecorder(store, upstream)).stop()
      const found = await repliesIn(store, `recorded-round-${round}`)
      expect(found).toEqual(replies.slice(0, found.length))
      expect(found.length).toBeGreaterThanOrEqual(Math.max(before.length, left))
      expect(found.length).toBeLessThanOrEqual(before.length + left)
      expect(spooled(file)).toBe(0)
    }
  })

  it('loses none of the calls that come while its store is held, however many: they wait in files', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = `sqlite:${file}`
    const { url: upstream } = await modelServer()
    const recorder = await startRecorder(`${store}?timeout=600000`, upstream)
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    const calls = 270
    for (let call = 0; call < calls; call++)
      expect(await createClient(`short-${call % 3}`)(recorder.url)).toMatchObject({ status: 200 })
    other.exec('ROLLBACK')
    other.close()
    expect(await recorder.stop()).toMatch(
      new RegExp(`^recorded ${calls} calls in \\d+ conversations of \\S+\\n$`),
    )
    expect(existsSync(`${file}-spool`)).toBe(false)
  })

  it('is refused by its store for a while: it tries again, in order, and what is still refused at its end waits for the next start', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const store = `sqlite:${file}`
    const { url: upstream } = await modelServer()
    const ask = createClient('refused')
    const other = new DatabaseSync(file)
    const first = await startRecorder(`${store}?timeout=1`, upstream)
    other.exec('BEGIN IMMEDIATE')
    for (const said of ['reply 1', 'reply 2']) expect(await ask(first.url)).toEqual({ status: 200, said })
    await expect.poll(() => spooled(file), poll).toBe(2)
    // Long enough for several refusals.
    await setTimeout(1_500)
    expect(spooled(file)).toBe(2)
    other.exec('ROLLBACK')
    await expect.poll(() => repliesIn(store, 'recorded-refused'), poll).toEqual(['reply 1', 'reply 2'])
    await expect.poll(() => spooled(file), poll).toBe(0)
    other.exec('BEGIN IMMEDIATE')
    for (const said of ['reply 3', 'reply 4']) expect(await ask(first.url)).toEqual({ status: 200, said })
    await expect.poll(() => spooled(file), poll).toBe(2)
    expect(await first.stop()).toMatch(
      /^recorded 2 calls in 1 conversation .* 2 calls not recorded: .*\(the next start records it from \S+-spool\)/,
    )
    expect(spooled(file)).toBe(2)
    other.exec('ROLLBACK')
    other.close()
    expect(await (await startRecorder(store, upstream)).stop()).toMatch(
      /^recorded 2 calls in 1 conversation /,
    )
    expect(await repliesIn(store, 'recorded-refused')).toEqual(['reply 1', 'reply 2', 'reply 3', 'reply 4'])
    expect(existsSync(`${file}-spool`)).toBe(false)
    const reader = await openStore(store)
    expect(await reader.conversation('recorded-refused').notes()).toEqual([])
    await reader.close()
  })

  it('has no room on its disk: every reply comes unchanged, and the end says what is missing', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const { url: upstream } = await modelServer()
    const ask = createClient('full', 100_000)
    // Files of at most 600 KB, as a disk that is full.
    const recorder = await startRecorder(`sqlite:${file}`, upstream, { limit: 600 })
    for (let count = 1; count <= 8; count++)
      expect(await ask(recorder.url)).toEqual({ status: 200, said: `reply ${count}` })
    expect(await recorder.stop()).toMatch(/calls? not recorded: /)
  })
})

describe('palimpsest record --strict', () => {
  it('passes a request on once it is recorded, and the end of its reply once that is', async () => {
    const store = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const recorded: unknown[] = []
    const { url: upstream } = await modelServer(async () => {
      const reader = await openStore(store)
      for await (const { data } of reader.conversation('recorded-strict').events()) recorded.push(data)
      await reader.close()
    })
    const { url, stop } = await startRecorder(store, upstream, { args: ['--strict'] })
    const ask = createClient('strict')
    expect(await ask(url)).toEqual({ status: 200, said: 'reply 1' })
    expect(JSON.stringify(recorded)).toContain('question 0')
    expect(await repliesIn(store, 'recorded-strict')).toEqual(['reply 1'])
    expect(await ask(url)).toEqual({ status: 200, said: 'reply 2' })
    expect(await repliesIn(store, 'recorded-strict')).toEqual(['reply 1', 'reply 2'])
    expect(await stop()).toMatch(/^recorded 2 calls in 1 conversation of \S+\n$/)
  })

  it('keeps calls apart that are open at once', async () => {
    const store = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const both = Promise.withResolvers<void>()
    let waiting = 0
    const { url: upstream } = await modelServer(async () => {
      if (++waiting === 2) both.resolve()
      await both.promise
    })
    const { url, stop } = await startRecorder(store, upstream, { args: ['--strict'] })
    const answers = await Promise.all([createClient('twice')(url), createClient('twice', 30)(url)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await stop()).toMatch(/^recorded 2 calls in 2 conversations of \S+\n$/)
    const found = [
      ...(await repliesIn(store, 'recorded-twice')),
      ...(await repliesIn(store, 'recorded-twice:side-1')),
    ]
    expect(found.toSorted()).toEqual(['reply 1', 'reply 2'])
  })

  it('passes nothing on that it cannot record, and says why', async () => {
    const file = join(temporaryFolder(), 'store.db')
    const { url: upstream, seen } = await modelServer()
    const { url, stop } = await startRecorder(`sqlite:${file}?timeout=50`, upstream, { args: ['--strict'] })
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    const refused = await createClient('held')(url)
    expect(refused).toMatchObject({ status: 503, said: expect.stringContaining('is not recorded: ') })
    other.exec('ROLLBACK')
    other.close()
    const post = async (path: string, body: string) =>
      (await fetch(`${url}${path}`, { method: 'POST', body })).status
    expect(await post('/v1/messages', 'no JSON')).toBe(503)
    expect(await post('/v1/messages', '{}')).toBe(503)
    expect(await post('/v1/complete', '{"prompt":"Hello."}')).toBe(403)
    expect(seen).toEqual([])
    expect(await post('/v1/messages/count_tokens', '{"messages":[]}')).toBe(200)
    expect(await createClient('held')(url)).toMatchObject({ status: 200 })
    expect(seen).toEqual(['/v1/messages/count_tokens', '/v1/messages'])
    await stop()
  })
})

const poll = { timeout: 60_000, interval: 50 }
