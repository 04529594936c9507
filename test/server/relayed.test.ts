import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRelayClient } from '../../src/cli/work/relay-client.ts'
import { openStore, tool } from '../../src/index.ts'
import { newRelay } from '../../src/server/relay.ts'
import { serve } from '../../src/server/serve.ts'
import { createAccessToken } from '../../src/server/access-tokens.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { program } from '../cli/palimpsest.ts'
import { atEnd } from '../support/at-end.ts'
import { text } from '../support/log.ts'
import { endsWithTest, startHeard } from '../support/node.ts'
import { runs } from '../support/runs.ts'
import { type Message, posted } from '../support/server/told.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

const hello = { role: 'user', content: 'Is it there?' } as const
const answers = ['Yes, it is there.', 'It is well.', 'It sleeps.']

const idsOf = (messages: readonly Message[]): readonly number[] =>
  messages.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))
const written = (messages: readonly Message[]): string =>
  messages.flatMap(({ event, data }) => (event === 'text' ? [data['text']] : [])).join('')

/** What a server is told passes here, if `isOpen` says so; else the connection breaks, before or after it was told. */
const breaking = async (target: string, isOpen: () => 'open' | 'before' | 'after') => {
  const proxy = createServer(async (incoming, outgoing) => {
    const how = isOpen()
    const body = await textOf(incoming)
    if (how === 'before') return outgoing.destroy()
    const passed = request(target + incoming.url, { method: 'POST', headers: incoming.headers })
    passed.end(body)
    const [answer] = (await once(passed, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
    const said = await textOf(answer)
    if (how === 'after') return outgoing.destroy()
    return outgoing.writeHead(answer.statusCode).end(said)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  atEnd(
    () => proxy.closeAllConnections(),
    () => proxy.close(),
  )
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

describe('a worker that tells a server', () => {
  test('may be cut off from it at any time: fewer words come, and the same events', async () => {
    const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), run: () => 'It is there.' })
    const api = await messagesApi({
      reply: ({ messages }) => {
        const said = answers[((messages.length - 1) / 2) % answers.length] ?? ''
        const isLast = messages.length % (2 * answers.length) === 5
        const call = { type: 'tool_use', id: `toolu_${messages.length}`, name: 'look', input: {} } as const
        return { content: isLast ? [text(said)] : [text(said), call], delay: 1 }
      },
    })
    const store = await opened('memory:')
    const server = await serve({ store, port: 0 })
    atEnd(api.close, server.close)
    let cuts: ('open' | 'before' | 'after')[] = []
    const url = await breaking(server.url, () => cuts.pop() ?? 'open')
    const relay = createRelayClient({ url, token: undefined, says: () => {}, rest: 1, pause: 1 })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const worker = store.worker({
      turn: () => ({ client, model: 'claude-opus-5-5', tools: [look] }),
      onEvent: relay.tell,
    })
    relay.begin(worker.id)
    const ends = new AbortController()
    const done = worker.run({ signal: ends.signal })
    atEnd(
      () => done,
      () => ends.abort(),
      relay.end,
    )
    let turns = 0
    const cut = fc.constantFrom('open' as const, 'before' as const, 'after' as const)
    await fc.assert(
      fc.asyncProperty(
        fc.array(cut, { maxLength: 12 }),
        fc.array(fc.nat(6), { maxLength: 4 }),
        async (its, leaves) => {
          cuts = its
          const conversation = `c${turns++}`
          const body = { messages: [hello], commandId: 'ask' }
          const path = `${server.url}/api/v1/conversations/${conversation}/turns`
          const seen: Message[] = []
          // The reader is cut off as well, and continues after what it has.
          for (let left: number | undefined; seen.at(-1)?.event !== 'outcome';) {
            left = leaves.pop()
            const last = idsOf(seen).at(-1)
            const headers: Record<string, string> =
              last === undefined ? {} : { 'last-event-id': String(last) }
            for await (const message of posted(path, body, { headers })) {
              seen.push(message)
              if (left !== undefined && left-- === 0) break
            }
          }
          expect(seen.at(-1)?.data).toMatchObject({ outcome: 'done', stopReason: 'end_turn' })
          expect(idsOf(seen)).toEqual([1, 2, 3, 4, 5, 6])
          // What comes of the replies comes in their order, each before it is recorded.
          let at = 0
          for (const { event, id, data } of seen) {
            if (event === 'text') expect(answers.slice(at).join('')).toContain(data['text'])
            if (id !== undefined) at = Math.floor(Number(id) / 2)
          }
        },
      ),
      { numRuns: runs(16) },
    )
  })
})

test('a worker tells a server of an error that contains itself, without what failed inside', async () => {
  const store = await opened('memory:')
  const told = newRelay()
  const server = await serve({ store, port: 0, relay: told })
  const listening = told.listen('a')
  const relay = createRelayClient({ url: server.url, token: undefined, says: () => {}, rest: 1, pause: 1 })
  atEnd(server.close, listening.leave, relay.end)
  const cause: { self?: object } = {}
  cause.self = cause
  const error = { _tag: 'ModelFailed', message: 'it broke off', cause } as const
  relay.begin('w')
  relay.tell({ conversation: 'a', event: { type: 'retrying', error, wait: 0, try: 2 } })
  expect(await listening.next()).toEqual({
    type: 'retrying',
    error: { _tag: 'ModelFailed', message: 'it broke off' },
    wait: 0,
    try: 2,
  })
})

/** `palimpsest serve` or `palimpsest work` as processes, on a store in a folder. */
const processes = async () => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}`
  const store = await openStore(url)
  atEnd(store.close)
  const api = await messagesApi({ reply: () => ({ content: [text(answers.join(' '))], delay: 1 }) })
  atEnd(api.close)
  const agent = join(folder, 'agent.mjs')
  writeFileSync(
    agent,
    `import Anthropic from '${import.meta.resolve('@anthropic-ai/sdk')}'
    const client = new Anthropic({ baseURL: '${api.url}', apiKey: 'key', maxRetries: 0 })
    export default () => ({ client, model: 'claude-opus-5-5' })`,
  )
  const path = await program()
  const begin = async (...args: readonly string[]) => {
    const child = startHeard(path, ...args, '--store', url, '--json')
    endsWithTest(child)
    const lines = createInterface(child.stdout as NodeJS.ReadableStream)
    const [line] = (await once(lines, 'line')) as [string]
    return { child, said: JSON.parse(line) as { readonly url: string } }
  }
  return { folder, agent, store, begin }
}
const all = async (stream: AsyncIterable<Message>): Promise<readonly Message[]> => {
  const messages = []
  for await (const message of stream) messages.push(message)
  return messages
}

test('palimpsest serve --work answers and streams in one process, and ends on SIGTERM', async () => {
  const { agent, begin } = await processes()
  const { child, said } = await begin('serve', '--port', '0', '--work', agent, '--slots', '2')
  const messages = await all(posted(`${said.url}/api/v1/conversations/a/turns`, { messages: [hello] }))
  expect(messages[0]?.data).toMatchObject({ workers: 1, streams: 'tokens' })
  expect(written(messages)).toBe(answers.join(' '))
  expect(messages.at(-1)?.data).toMatchObject({ outcome: 'done' })
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test('palimpsest work --relay tells a server that wants a token, and works on if that does not take it', async () => {
  const { folder, agent, begin } = await processes()
  const file = join(folder, 'tokens.json')
  const token = createAccessToken(file, 'worker', ['write'])
  const asking = createAccessToken(file, 'ann', ['read', 'write'])
  const { said } = await begin('serve', '--port', '0', '--token-file', file)
  const ask = (id: string) =>
    all(
      posted(
        `${said.url}/api/v1/conversations/${id}/turns`,
        { messages: [hello] },
        { headers: { authorization: `Bearer ${asking}` } },
      ),
    )
  const { child } = await begin('work', agent, '--relay', said.url, '--relay-token', token)
  // The worker says at once that it tells; a busy machine may pass on some words too late.
  const whole = answers.join(' ')
  let messages = await ask('a')
  const isTold = (): boolean => messages[0]?.data['streams'] === 'tokens' && written(messages) === whole
  for (let n = 1; !isTold(); n++) messages = await ask(`a${n}`)
  child.kill('SIGTERM')
  await once(child, 'exit')
  const stranger = await begin('work', agent, '--relay', said.url, '--relay-token', 'another')
  let errors = ''
  stranger.child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  expect((await ask('b')).at(-1)?.data).toMatchObject({ outcome: 'done' })
  await expect.poll(() => errors).toContain("rejects the model's output (HTTP 401)")
})

test('of workers that tell a server it knows those that were heard lately, and not more than ten thousand', () => {
  let now = 0
  const { hear, workers } = newRelay(() => now)
  for (let n = 0; n < 20_000; n++) hear(`worker-${n}`, [])
  expect(workers().size).toBeLessThan(10_010)
  expect(workers()).toContain('worker-19999')
  now = 25_000
  hear('worker-19000', [])
  now = 31_000
  expect([...workers()]).toEqual(['worker-19000'])
})
