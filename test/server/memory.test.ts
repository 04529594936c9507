import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../../src/server/routes/index.ts'
import { builtPage } from '../support/bundle.ts'
import { largeContent, writeLarge } from '../support/large-conversation.ts'
import { node, program, quiet } from '../support/node.ts'
import { some } from '../support/runs.ts'

// Each operation of a server whose memory is limited, on a conversation of 50 MB, all of which the model sees, and each command that writes
// all of it. A route without a row fails.

/** The heap of a process, in MB: an idle server needs 40. With more, V8 collects later, and memory says little of what is needed. */
const heap = 240

interface Ask {
  readonly path: string
  readonly json?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Default: 200 or 201. 413: it says at once that this is too large, and which command does the same. */
  readonly status?: number
  /** It goes on: so many bytes are read of it. */
  readonly bytes?: number
}
const a = 'conversations/large'
const get = (path: string, more: Partial<Ask> = {}): Ask => ({ path: `${a}${path}`, ...more })
const post = (path: string, json: object = {}, status?: number): Ask =>
  get(path, { json, ...(status !== undefined && { status }) })
const tooLarge = { status: 413 }
const formats = { html: 200, palimpsest: 200, markdown: 200, anthropic: 413, vcon: 413, prov: 413 }

/** In this order, as some write. */
const rows: Readonly<Record<string, readonly Ask[]>> = {
  conversations: [{ path: 'conversations' }, { path: 'conversations?q=parser' }],
  conversation: [get('')],
  effective: [get('/effective?limit=1000'), get('/effective?repairs=true&clip=200')],
  full: [get('/full?abandoned=true&last=1000')],
  render: [get('/request', tooLarge)],
  diff: [
    get('/diff?from=0', tooLarge),
    get('/diff?from=0&of=request', tooLarge),
    get('/diff?from=0&of=full', tooLarge),
    get('/diff?from=0&of=full&clip=200'),
  ],
  events: [
    get('/events?limit=1000'),
    get('/events?after=-1', { headers: { accept: 'text/event-stream' }, bytes: largeContent }),
  ],
  event: [get('/events/5')],
  block: [get('/events/5/blocks/0')],
  blob: [{ path: `blobs/${'0'.repeat(64)}`, status: 404 }],
  outline: [get('/outline')],
  overview: [get('/overview')],
  about: [get('/about')],
  branches: [get('/branches')],
  hiddenBy: [get('/hidden?markers=0,1')],
  hidden: [get('/hidden/3', { status: 404 })],
  search: [{ path: 'search?q=parser&limit=1000' }],
  searchIn: [get('/search?q=parser&limit=1000')],
  calls: [get('/calls?limit=1000')],
  sent: [get('/calls/20'), get('/calls/300', tooLarge)],
  exact: [get('/calls/20/request'), get('/calls/300/request', tooLarge)],
  receipt: [get('/calls/300/receipt')],
  export: [post('/exports', { format: 'html', calls: true }), post('/exports', { format: 'markdown' })],
  download: [
    get('/export?format=html&calls=true'),
    get('/export?format=markdown&redact=parser'),
    ...Object.entries(formats).map(([format, status]) => get(`/export?format=${format}`, { status })),
  ],
  audit: [{ path: 'audit' }],
  standing: [get('/audit')],
  verification: [get('/verification')],
  evidence: [post('/evidence', {}, 413)],
  cache: [get('/cache')],
  costOfAll: [{ path: 'cost' }],
  cost: [get('/cost')],
  why: [get('/calls/300/why')],
  whyAll: [get('/why')],
  markerStory: [get('/markers/3', { status: 404 })],
  replay: [post('/replay', { policy: { context: { window: 50_000 } } })],
  bisections: [get('/bisections')],
  bisect: [post('/bisections', { good: -1, bad: 300, question: 'x' })],
  bisection: [get('/bisections/{bisection}')],
  verdict: [post('/bisections/{bisection}/verdicts', { position: 150, verdict: 'good' }, 409)],
  notes: [get('/notes')],
  note: [post('/notes', { kind: 'title', data: 'x' })],
  links: [get('/links')],
  link: [post('/links', { relation: 'continues', ref: 'x' })],
  waiting: [get('/waiting')],
  approve: [post('/waiting/none/approve', {}, 409)],
  deny: [post('/waiting/none/deny', {}, 409)],
  withdraw: [post('/waiting/none/withdraw', {}, 409)],
  follow: [{ path: 'events', bytes: largeContent }],
  workers: [{ path: 'workers' }],
  steps: [{ path: 'steps' }],
  relay: [{ path: 'relay', json: { worker: 'w', events: [] } }],
  pauseWorker: [{ path: 'workers/none/pause', json: {}, status: 404 }],
  resumeWorker: [{ path: 'workers/none/resume', json: {}, status: 404 }],
  create: [{ path: 'conversations', json: { id: 'other', from: { conversation: 'large' } } }],
  command: [
    get('/commands', {
      json: { type: 'append', messages: [{ role: 'user', content: 'On.' }] },
      headers: { 'if-match': '*' },
    }),
    get('/commands', { json: { type: 'truncate', keepLast: 2 }, headers: { 'if-match': '*' } }),
    get('/commands', { json: { type: 'undo' }, headers: { 'if-match': '*' } }),
  ],
  say: [post('/messages', { messages: [{ role: 'user', content: 'On.' }] }, 202)],
  request: [post('/request')],
  erase: [post('/erase?dryRun=true', { positions: [0, 1, 2] }), post('/erase', { positions: [0, 1, 2] })],
  hold: [post('/hold')],
  legalHold: [get('/hold')],
  release: [post('/release')],
  pause: [post('/pause')],
  resume: [post('/resume')],
  retry: [post('/retry', {}, 409)],
  cancel: [post('/cancel')],
  turn: [post('/turns')].map((ask) => ({ ...ask, bytes: 1 })),
}

/** Those that write all of the conversation. */
const commands = [
  ...['palimpsest', 'html', 'html --calls', 'markdown', 'anthropic', 'vcon', 'prov'].map(
    (format) => `export large --format ${format}`,
  ),
  'show large',
  'full large --json',
  'log large --json',
  'render large',
  'sent large',
]

const child = new URL('./children/serving.ts', import.meta.url).pathname

const asked = async (api: string, { path, json, headers, bytes = Infinity }: Ask): Promise<number> => {
  const left = new AbortController()
  const response = await fetch(`${api}/${path}`, {
    signal: left.signal,
    ...(json && { method: 'POST', body: JSON.stringify(json) }),
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
  })
  let read = 0
  for await (const piece of response.body ?? []) {
    read += piece.length
    if (read >= bytes) break
  }
  left.abort()
  return response.status
}

describe('of a conversation of 50 MB', () => {
  let folder: string
  let server: ChildProcess | undefined
  let api: string
  let bisection: string
  let url: string
  let page: string

  const begin = async (): Promise<void> => {
    const started = fork(child, [url, page], { execArgv: [`--max-old-space-size=${heap}`], silent: true })
    server = started
    const [origin] = (await once(started, 'message')) as [string]
    api = `${origin}/api/v1`
  }
  const end = async (): Promise<void> => {
    // None where the preparation has failed.
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    server.kill()
    await once(server, 'exit')
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
    url = `sqlite:${join(folder, 'large.db')}`
    bisection = await writeLarge(url)
    page = pathToFileURL(`${join(await builtPage(), 'ui-file')}/`).href
    await begin()
  })
  afterAll(async () => {
    await end()
    rmSync(folder, { recursive: true })
  })

  test('each operation has a row', () => {
    expect(Object.keys(rows).toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
  })

  const writing = new Set(
    routes.flatMap(({ name, scope }) => (['write', 'erase'].includes(scope) ? [name] : [])),
  )
  // All of it takes a minute or two: npm test takes some operations. The rows of one belong together: an undo needs what it undoes.
  const asks = some(Object.entries(rows)).flatMap(([name, its]) =>
    its.map((ask) => [name, ask.path, ask] as const),
  )
  test.each(asks)('%s does without more: %s', async (name, path, ask) => {
    // What was written to is remembered for the next command: that is no memory of this operation.
    if (writing.has(name)) {
      await end()
      await begin()
    }
    const status = await asked(api, { ...ask, path: path.replace('{bisection}', bisection) })
    expect(status).toBe(ask.status ?? (status === 201 ? 201 : 200))
  })

  test.each(some(commands))('so does palimpsest %s', async (line) => {
    const args = [`--max-old-space-size=${heap}`, program('../src/cli/main.ts'), ...line.split(' ')]
    const command = spawn(node, [...args, '--store', url], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: quiet,
    })
    const closed = once(command, 'close')
    let bytes = 0
    for await (const piece of command.stdout) bytes += (piece as Buffer).length
    expect(await closed).toEqual([0, null])
    expect(bytes).toBeGreaterThan(largeContent / 2)
  })
})
