import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/index.ts'
import { atEnd } from '../support/at-end.ts'
import { temporaryFolder } from '../support/stores.ts'
import { program } from './palimpsest.ts'

interface Recording {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a script as the client of `palimpsest record`. */
const record = async (
  folder: string,
  script: string,
  upstream: string,
  args: readonly string[] = [],
): Promise<Recording> => {
  writeFileSync(join(folder, 'client.mjs'), script)
  const command = [await program(), 'record', '--store', `sqlite:${join(folder, 'store.db')}`]
  const child = spawn(
    process.execPath,
    [...command, ...args, '--', process.execPath, join(folder, 'client.mjs')],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'], ANTHROPIC_BASE_URL: upstream, OPENAI_BASE_URL: upstream },
    },
  )
  atEnd(() => child.kill('SIGKILL'))
  const [[code], out, err] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)])
  return { code: code as number | null, out, err }
}

const asks = (content: string, more = '{}') => `
  const response = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages?beta=true&key=' + encodeURIComponent('CANARY'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'CANARY', authorization: 'Bearer CANARY', cookie: 'k=CANARY', 'anthropic-version': '2023-06-01', 'user-agent': 'claude-cli/2.1.332', 'x-claude-code-session-id': 'session-1' },
    body: JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 100, messages: [{ role: 'user', content: ${JSON.stringify(content)} }], ...${more} }),
  })
  const got = await response.text()
`

describe('palimpsest record', () => {
  it('starts a client whose calls it passes on and records, and ends with its exit code', async () => {
    const api = await messagesApi({ reply: () => ({ content: [{ type: 'text', text: 'Hello, Ann.' }] }) })
    atEnd(api.close)
    const folder = temporaryFolder()
    const script = `${asks('Hello.', '{ stream: true }')}
      console.log(response.status, got.includes('Hello, Ann.'))
      process.exit(7)`
    const { code, out, err } = await record(folder, script, api.url)
    expect({ code, out, err }).toMatchObject({
      code: 7,
      out: '200 true\n',
      err: expect.stringMatching(/^recorded 1 call in 1 conversation of sqlite:/),
    })
    expect(api.requests.map(({ path }) => path)).toEqual(['/v1/messages'])
    const store = await openStore(`sqlite:${join(folder, 'store.db')}`)
    atEnd(store.close)
    const chat = store.conversation('recorded-session-1')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
    expect((await chat.sent()).body).toEqual({
      model: 'claude-opus-5-5',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello.' }],
      stream: true,
    })
  })

  it('stores and prints no key: not of a header, a query, a URL, or the body of an error', async () => {
    const canary = 'sk-canary-5f2b9c71e04d'
    const folder = temporaryFolder()
    const api = await messagesApi()
    atEnd(api.close)
    const failing = createServer((request, response) => {
      request.resume()
      response.writeHead(401, { 'content-type': 'application/json', 'x-key': canary })
      response.end(JSON.stringify({ type: 'error', error: { message: `${canary} is invalid` } }))
    })
    failing.listen(0, '127.0.0.1')
    await once(failing, 'listening')
    atEnd(() => failing.close())
    const script = `${asks('Hello.')}; console.log(response.status)`.replaceAll('CANARY', canary)
    const wrong = new URL(`http://user:${canary}@127.0.0.1:${(failing.address() as AddressInfo).port}`)
    const runs = [
      await record(folder, script, api.url),
      await record(folder, script, wrong.href),
      await record(folder, script, 'http://x', ['--upstream', wrong.href]),
    ]
    expect(runs.map(({ out }) => out)).toEqual(['200\n', '401\n', '401\n'])
    const store = await openStore(`sqlite:${join(folder, 'store.db')}`)
    const events: unknown[] = []
    for await (const each of store.readAll()) events.push(each)
    await store.close()
    expect(events.length).toBeGreaterThan(2)
    const written = [
      JSON.stringify(events),
      ...runs.map(({ err }) => err),
      ...readdirSync(folder)
        .filter((name) => name !== 'client.mjs')
        .map((name) => readFileSync(join(folder, name), 'latin1')),
    ].join('\n')
    const pieces = Array.from({ length: canary.length - 7 }, (_, at) => canary.slice(at, at + 8))
    const forms = [
      ...pieces,
      Buffer.from(canary).toString('hex'),
      Buffer.from(canary).toString('base64').slice(0, 20),
    ]
    expect(forms.filter((form) => written.includes(form))).toEqual([])
  })

  it('passes on bodies, URLs, header lists and replies as they are', async () => {
    const got: unknown[] = []
    const upstream = createServer(async (request, response) => {
      const body = await buffer(request)
      got.push([request.method, request.url, body.toString('latin1'), request.rawHeaders.slice(0, 10)])
      response.writeHead(299, 'Fine', [
        'X-One',
        '1',
        'x-two',
        '2',
        'X-One',
        '3',
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
      ])
      response.write(body.subarray(0, 5))
      setImmediate(() => response.end(body.subarray(5)))
    })
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    atEnd(() => upstream.close())
    const { port } = upstream.address() as AddressInfo
    const { url, stop } = await alone(`http://127.0.0.1:${port}/base`)
    const body = Buffer.from(Array.from({ length: 3_000 }, (_, index) => index % 256))
    const ask = (path: string) =>
      send(
        `${url}${path}`,
        {
          method: 'POST',
          headers: [
            'X-Odd-Case',
            'a',
            'x-list',
            '1',
            'x-list',
            '2',
            'Content-Length',
            '3000',
            'Host',
            new URL(url).host,
          ],
        },
        body,
      )
    for (const path of ['/v1/messages?a=%20b&a=2', '/v1/anything//else/x']) {
      const answer = await ask(path)
      expect(answer.status).toBe(299)
      expect(answer.message).toBe('Fine')
      expect(answer.body.equals(body)).toBe(true)
      expect(answer.rawHeaders.slice(0, 10)).toEqual([
        'X-One',
        '1',
        'x-two',
        '2',
        'X-One',
        '3',
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
      ])
    }
    expect(got).toMatchObject([
      [
        'POST',
        '/base/v1/messages?a=%20b&a=2',
        body.toString('latin1'),
        [
          'X-Odd-Case',
          'a',
          'x-list',
          '1',
          'x-list',
          '2',
          'Content-Length',
          '3000',
          'Host',
          `127.0.0.1:${port}`,
        ],
      ],
      ['POST', '/base/v1/anything//else/x', body.toString('latin1'), expect.anything()],
    ])
    await stop()
  })

  it('refuses other hosts, web pages, and servers that cannot be reached', async () => {
    const { url, stop } = await alone('http://127.0.0.1:9')
    const host = new URL(url).host
    const status = async (headers: readonly string[]) =>
      (await send(`${url}/v1/messages`, { method: 'POST', headers }, Buffer.from('{"messages":[]}'))).status
    expect(await status(['Host', 'evil.example'])).toBe(403)
    expect(await status(['Host', host, 'Origin', 'https://evil.example'])).toBe(403)
    expect(await status(['Host', host])).toBe(502)
    expect(await stop()).toMatch(/^recorded 1 call in 1 conversation of sqlite:\S+\n$/)
  })
})

/** Runs `palimpsest record` without a client. */
const alone = async (upstream: string) => {
  const folder = temporaryFolder()
  const args = [
    await program(),
    'record',
    '--store',
    `sqlite:${join(folder, 'store.db')}`,
    '--upstream',
    upstream,
  ]
  const child = spawn(process.execPath, args, { cwd: folder })
  atEnd(() => child.kill('SIGKILL'))
  const [piece] = (await once(child.stdout, 'data')) as [Buffer]
  const url = /ANTHROPIC_BASE_URL=(\S+)/.exec(piece.toString())?.[1] ?? ''
  const err = text(child.stderr)
  return {
    url,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      return err
    },
  }
}

const send = async (
  url: string,
  { method, headers }: { readonly method: string; readonly headers: readonly string[] },
  body: Buffer,
) => {
  const request = httpRequest(url, { method, headers, setHost: false, agent: false })
  request.end(body)
  const [answer] = await once(request, 'response')
  const { statusCode: status, statusMessage: message, rawHeaders } = answer
  return { status, message, rawHeaders, body: await buffer(answer) }
}
