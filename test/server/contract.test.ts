import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openStore } from '../../src/index.ts'
import { bisect } from '../../src/investigate/index.ts'
import { routes } from '../../src/server/routes/index.ts'
import { createAccessToken, accessTokensIn } from '../../src/server/access-tokens.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { parkStep } from '../support/park-step.ts'
import { type Ask, type Asked, type Got, serving, servingAtPort } from '../support/server/asking.ts'
import { wiper } from '../support/server/wiper.ts'

// Each operation against each way of asking. A route without a row fails.

type Request = readonly [path: string, asked?: Asked | undefined]
interface Row {
  readonly right: Request
  /** What is asked for in vain, by the status that it has. */
  readonly wrong: readonly (readonly [status: number, ...Request])[]
  /** What is refused or spared because it is out of date; `etag`: the right request, by one who has its answer. Left out: nothing gets old. */
  readonly stale?: 'etag' | readonly [status: number, ...Request]
}

const a = 'conversations/a'
const none = 'conversations/none'
const hello = { role: 'user', content: 'Hello.' } as const
const large = 'x'.repeat(3_000)
const hash = createHash('sha256').update(large).digest('hex')
const append = { type: 'append', messages: [hello] }
const live = { headers: { accept: 'text/event-stream' } }
/** What a path of a conversation answers if there is none, or no such position. */
const missing = (path: string): Row['wrong'] => [
  [404, `${none}/${path}`],
  [404, `${a}/${path}${path.includes('?') ? '&' : '?'}at=99`],
  [400, `${a}/${path}${path.includes('?') ? '&' : '?'}at=x`],
]
/** An empty body is right, another field is wrong, and the conversation may be missing. */
const bare = (path: string): Pick<Row, 'right' | 'wrong'> => ({
  right: [`${a}/${path}`, { json: {} }],
  wrong: [
    [404, `${none}/${path}`, { json: {} }],
    [400, `${a}/${path}`, { json: { more: 1 } }],
  ],
})

const rows: Readonly<Record<string, Row>> = {
  conversations: {
    right: ['conversations?limit=1'],
    wrong: [
      [400, 'conversations?limit=0'],
      [400, 'conversations?cursor=none'],
      [404, 'conversations?cursor=:none'],
    ],
  },
  conversation: {
    right: [a],
    wrong: [
      [404, none],
      [400, 'conversations/a%20b'],
    ],
    stale: 'etag',
  },
  create: {
    right: ['conversations', { json: { id: 'new', messages: [hello] } }],
    wrong: [
      [400, 'conversations', { json: { id: 'new' } }],
      [404, 'conversations', { json: { from: { conversation: 'none' } } }],
    ],
    stale: [409, 'conversations', { json: { id: 'a', messages: [hello] } }],
  },
  effective: { right: [`${a}/effective`], wrong: missing('effective'), stale: 'etag' },
  full: { right: [`${a}/full`], wrong: missing('full'), stale: 'etag' },
  render: { right: [`${a}/request`], wrong: missing('request'), stale: 'etag' },
  diff: {
    right: [`${a}/diff?from=0`],
    wrong: [
      [400, `${a}/diff`],
      [404, `${none}/diff?from=0`],
      [404, `${a}/diff?from=99`],
      [404, `${a}/diff?from=99&of=full`],
      [404, `${a}/diff?from=0&to=99&of=request`],
      [400, `${a}/diff?from=0&of=x`],
    ],
    stale: 'etag',
  },
  events: {
    right: [`${a}/events`],
    wrong: [
      [404, `${none}/events`],
      [400, `${a}/events?limit=1001`],
      [400, `${a}/events?direction=up`],
      [400, `${a}/events?fields=type,body`],
      [400, `${a}/events?after=99`, live],
      [400, `${a}/events?direction=backward`, live],
      [400, `${a}/events?from=0`, live],
      [400, `${a}/events?after=0`],
    ],
    stale: 'etag',
  },
  event: {
    right: [`${a}/events/0`],
    wrong: [
      [404, `${a}/events/99`],
      [404, `${none}/events/0`],
      [400, `${a}/events/x`],
    ],
    stale: 'etag',
  },
  block: {
    right: [`${a}/events/0/blocks/0`],
    wrong: [
      [404, `${a}/events/0/blocks/9`],
      [404, `${none}/events/0/blocks/0`],
      [416, `${a}/events/0/blocks/0`, { headers: { range: 'bytes=999999-' } }],
    ],
    stale: 'etag',
  },
  blob: {
    right: [`blobs/${hash}`],
    wrong: [
      [404, `blobs/${'0'.repeat(64)}`],
      [400, 'blobs/x'],
    ],
    stale: 'etag',
  },
  outline: {
    right: [`${a}/outline`],
    wrong: [
      [404, `${none}/outline`],
      [400, `${a}/outline?from=x`],
    ],
    stale: 'etag',
  },
  overview: {
    right: [`${a}/overview`],
    wrong: [
      [404, `${none}/overview`],
      [400, `${a}/overview?buckets=0`],
    ],
    stale: 'etag',
  },
  about: { right: [`${a}/about`], wrong: [[404, `${none}/about`]] },
  branches: { right: [`${a}/branches`], wrong: missing('branches') },
  hiddenBy: {
    right: [`${a}/hidden?markers=0,3`],
    wrong: [
      [404, `${none}/hidden?markers=3`],
      [404, `${a}/hidden?markers=3,99`],
      [400, `${a}/hidden`],
      [400, `${a}/hidden?markers=`],
      [400, `${a}/hidden?markers=3,x`],
    ],
    stale: 'etag',
  },
  hidden: {
    right: [`${a}/hidden/3`],
    wrong: [
      [404, `${none}/hidden/3`],
      [404, `${a}/hidden/0`],
      [400, `${a}/hidden/x`],
    ],
    stale: 'etag',
  },
  search: {
    right: ['search?q=Hello'],
    wrong: [
      [400, 'search'],
      [400, 'search?q=Hello&limit=0'],
    ],
  },
  searchIn: {
    right: [`${a}/search?q=Hello`],
    wrong: [
      [400, `${a}/search`],
      [404, `${none}/search?q=Hello`],
    ],
  },
  calls: {
    right: ['conversations/w/calls'],
    wrong: [
      [404, `${none}/calls`],
      [400, `${a}/calls?limit=0`],
    ],
  },
  sent: {
    right: ['conversations/w/calls/1'],
    wrong: [
      [404, 'conversations/w/calls/9'],
      [404, `${none}/calls/1`],
      [400, `${a}/calls/x`],
    ],
    stale: 'etag',
  },
  exact: {
    right: ['conversations/w/calls/1/request'],
    wrong: [
      [404, 'conversations/w/calls/9/request'],
      [404, `${none}/calls/1/request`],
      [400, `${a}/calls/x/request`],
    ],
    stale: 'etag',
  },
  receipt: {
    right: ['conversations/w/calls/1/receipt'],
    wrong: [
      [404, 'conversations/w/calls/9/receipt'],
      [404, `${none}/calls/1/receipt`],
      [400, `${a}/calls/x/receipt`],
    ],
  },
  export: {
    right: [`${a}/exports`, { json: { format: 'markdown' } }],
    wrong: [
      [404, `${none}/exports`, { json: { format: 'markdown' } }],
      [400, `${a}/exports`, { json: { format: 'pdf' } }],
      [404, `${a}/exports`, { json: { format: 'markdown', at: 99 } }],
    ],
  },
  download: {
    right: [`${a}/export?format=markdown`],
    wrong: [
      [404, `${none}/export?format=markdown`],
      [400, `${a}/export?format=pdf`],
      [404, `${a}/export?format=markdown&at=99`],
      [404, `${a}/export?format=original`],
      [400, `${a}/export?format=original&at=0`],
    ],
  },
  audit: { right: ['audit'], wrong: [[400, 'audit?x=1']] },
  standing: { right: [`${a}/audit`], wrong: [[404, `${none}/audit`]] },
  verification: { right: [`${a}/verification`], wrong: [[404, `${none}/verification`]] },
  evidence: {
    right: [`${a}/evidence`, { json: { withhold: [2] } }],
    wrong: [
      [404, `${none}/evidence`, { json: {} }],
      [400, `${a}/evidence`, { json: { withhold: [99] } }],
      [400, `${a}/evidence`, { json: { calls: { first: 2, last: 1 } } }],
    ],
  },
  cache: { right: [`${a}/cache`], wrong: [[404, `${none}/cache`]] },
  costOfAll: { right: ['cost'], wrong: [[400, 'cost?x=1']] },
  cost: { right: [`${a}/cost`], wrong: [[404, `${none}/cost`]] },
  why: {
    right: ['conversations/w/calls/1/why'],
    wrong: [
      [404, 'conversations/w/calls/9/why'],
      [404, 'conversations/w/calls/p0/why'],
      [400, 'conversations/w/calls/0/why'],
      [400, 'conversations/w/calls/p/why'],
    ],
  },
  markerStory: {
    right: [`${a}/markers/3`],
    wrong: [
      [404, `${a}/markers/0`],
      [404, `${none}/markers/0`],
      [400, `${a}/markers/x`],
    ],
  },
  whyAll: { right: [`${a}/why`], wrong: [[404, `${none}/why`]] },
  replay: {
    right: [`${a}/replay`, { json: { policy: { context: { window: 50_000 } } } }],
    wrong: [
      [404, `${none}/replay`, { json: {} }],
      [400, `${a}/replay`, { json: { policy: { context: { window: 1 } } } }],
      [400, `${a}/replay`, { json: { policy: { name: 'x'.repeat(4_000), mode: 'x' } } }],
    ],
  },
  bisections: { right: [`${a}/bisections`], wrong: [[404, `${none}/bisections`]] },
  bisect: {
    right: [`${a}/bisections`, { json: { good: -1, bad: 3 } }],
    wrong: [
      [404, `${none}/bisections`, { json: { good: -1, bad: 3 } }],
      [400, `${a}/bisections`, { json: { good: 3, bad: 1 } }],
      [400, `${a}/bisections`, { json: { good: -1, bad: 3, reliability: 0.5 } }],
    ],
  },
  bisection: {
    right: [`${a}/bisections/{bisection}?buckets=9`],
    wrong: [
      [404, `${a}/bisections/none`],
      [400, `${a}/bisections/none?buckets=0`],
    ],
  },
  verdict: {
    right: [`${a}/bisections/{bisection}/verdicts`, { json: { position: 2, verdict: 'good' } }],
    wrong: [
      [404, `${a}/bisections/none/verdicts`, { json: { position: 1, verdict: 'good' } }],
      [400, `${a}/bisections/{bisection}/verdicts`, { json: { position: 1, verdict: 'perhaps' } }],
    ],
    stale: [409, `${a}/bisections/{bisection}/verdicts`, { json: { position: 0, verdict: 'bad' } }],
  },
  notes: {
    right: [`${a}/notes`],
    wrong: [
      [404, `${none}/notes`],
      [400, `${a}/notes?last=0`],
    ],
  },
  note: {
    right: [`${a}/notes`, { json: { kind: 'title', data: 'x' } }],
    wrong: [
      [404, `${none}/notes`, { json: { kind: 'title', data: 'x' } }],
      [400, `${a}/notes`, { json: {} }],
      [400, `${a}/notes`, { json: { kind: 'palimpsest/hold', data: { by: 'x', released: true } } }],
    ],
  },
  links: {
    right: [`${a}/links`],
    wrong: [
      [404, `${none}/links`],
      [400, `${a}/links?last=1`],
    ],
  },
  link: {
    right: [`${a}/links`, { json: { relation: 'continues', conversation: 'w' } }],
    wrong: [
      [404, `${none}/links`, { json: { relation: 'continues', ref: 'x' } }],
      [400, `${a}/links`, { json: { relation: 'continues' } }],
    ],
  },
  command: {
    right: [`${a}/commands`, { json: { ...append, after: 3 } }],
    wrong: [
      [428, `${a}/commands`, { json: append }],
      [400, `${a}/commands`, { json: { type: 'erase', after: 3 } }],
      [404, `${none}/commands`, { json: { type: 'undo' }, headers: { 'if-match': '*' } }],
      [409, `${a}/commands`, { json: { type: 'restore', marker: 1, after: 3 } }],
    ],
    stale: [412, `${a}/commands`, { json: append, headers: { 'if-match': '"r0"' } }],
  },
  say: {
    right: [`${a}/messages`, { json: { messages: [hello] } }],
    wrong: [
      [400, `${a}/messages`, { json: {} }],
      [400, 'conversations/a%20b/messages', { json: { messages: [hello] } }],
    ],
  },
  turn: {
    right: [`${a}/turns`, { json: { messages: [hello] } }],
    wrong: [
      [400, `${a}/turns`, { json: { priority: 99 } }],
      [406, `${a}/turns`, { json: { messages: [hello] }, headers: { accept: 'application/json' } }],
      [404, `${none}/turns`, { json: {} }],
    ],
    stale: [412, `${a}/turns`, { json: { messages: [hello], after: 0 } }],
  },
  relay: {
    right: ['relay', { json: { worker: 'w', events: [] } }],
    wrong: [[400, 'relay', { json: { worker: 'w' } }]],
  },
  // Of a conversation that has not begun nothing is cancelled, and nothing waits.
  cancel: { ...bare('cancel'), wrong: [[400, `${none}/cancel`, { json: { more: 1 } }]] },
  request: bare('request'),
  retry: {
    right: ['conversations/p/retry', { json: {} }],
    wrong: [...bare('retry').wrong, [409, `${a}/retry`, { json: {} }]],
  },
  erase: {
    right: [`${a}/erase`, { json: { positions: [0], before: '2100-01-01T00:00:00Z' } }],
    wrong: [
      ...bare('erase').wrong,
      [400, `${a}/erase`, { json: { positions: [-1] } }],
      [400, `${a}/erase`, { json: { before: 'yesterday' } }],
      [400, `${a}/erase`, { json: { by: 'x' } }],
      [404, `${a}/erase`, { json: { positions: [99] } }],
      [409, 'conversations/w/erase', { json: {} }],
    ],
  },
  hold: bare('hold'),
  release: bare('release'),
  legalHold: { right: [`${a}/hold`], wrong: [[400, `${none}/hold?x=1`]] },
  pause: bare('pause'),
  resume: bare('resume'),
  waiting: {
    right: ['conversations/w/waiting'],
    wrong: [
      [404, `${a}/waiting?at=99`],
      [400, `${none}/waiting?x=1`],
    ],
  },
  approve: {
    right: ['conversations/w/waiting/call_1/approve', { json: {} }],
    wrong: [
      [409, `${a}/waiting/call_1/approve`, { json: {} }],
      [404, `${none}/waiting/call_1/approve`, { json: {} }],
    ],
    stale: [409, 'conversations/d/waiting/call_1/approve', { json: {} }],
  },
  deny: {
    right: ['conversations/w/waiting/call_1/deny', { json: {} }],
    wrong: [
      [409, `${a}/waiting/call_1/deny`, { json: {} }],
      [404, `${none}/waiting/call_1/deny`, { json: {} }],
    ],
    stale: [409, 'conversations/d/waiting/call_1/deny', { json: {} }],
  },
  withdraw: {
    right: ['conversations/e/waiting/call_1/withdraw', { json: {} }],
    wrong: [
      [409, `${a}/waiting/call_1/withdraw`, { json: {} }],
      [404, `${none}/waiting/call_1/withdraw`, { json: {} }],
    ],
    stale: [409, 'conversations/d/waiting/call_1/withdraw', { json: {} }],
  },
  follow: {
    right: ['events'],
    wrong: [
      [406, 'events', { headers: { accept: 'application/json' } }],
      [400, 'events?beginning=x&beginning=y', live],
    ],
  },
  workers: { right: ['workers'], wrong: [[400, 'workers?x=1']] },
  steps: { right: ['steps'], wrong: [[400, 'steps?state=x']] },
  pauseWorker: {
    right: ['workers/{worker}/pause', { json: {} }],
    wrong: [
      [404, 'workers/none/pause', { json: {} }],
      [400, 'workers/w/pause', { json: { by: 'x' } }],
    ],
  },
  resumeWorker: {
    right: ['workers/{worker}/resume', { json: {} }],
    wrong: [
      [404, 'workers/none/resume', { json: {} }],
      [400, 'workers/w/resume', { json: { by: 'x' } }],
    ],
  },
}

const turn = {
  client: wiper,
  model: 'm',
  tools: [{ name: 'wipe', input_schema: { type: 'object' } }],
  run: { wipe: { run: () => 'wiped', approve: true } },
} as const

/** `a` has a marker and large content, `p` is parked, in `w` a call waits, in `d` it was denied, in `e` approved; a worker looks for work in neither. */
const filled = async () => {
  const events = memoryStore()
  const store = await openStore(events, { largeContent: 1_024 })
  await parkStep(events, 'p')
  await store.conversation('a').append([hello, { role: 'assistant', content: large }, hello])
  await store.conversation('a').truncate({ covers: { first: 0, last: 1 } })
  const { id: bisection } = await bisect(store.conversation('a'), { good: -1, bad: 3, question: 'x' })
  for (const id of ['w', 'd', 'e']) {
    await store.conversation(id).append(hello)
    await store.conversation(id).turn(turn)
  }
  await store.conversation('d').deny('call_1', { by: 'ann' })
  await store.conversation('e').approve('call_1', { by: 'ann' })
  const stop = new AbortController()
  const worker = store.worker({ name: 'w', conversations: ['elsewhere-'], turn: () => turn })
  const running = worker.run({ signal: stop.signal })
  const isKnown = async (): Promise<boolean> => {
    for await (const { workers } of store.workers()) return workers.some((one) => one.worker === worker.id)
    return false
  }
  await vi.waitUntil(isKnown, { timeout: 300_000 })
  const close = async (): Promise<void> => {
    stop.abort()
    await running
    await store.close()
  }
  return { store, worker: worker.id, bisection, close }
}

const scene = async () => {
  const { store, worker, bisection, close } = await filled()
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  const file = join(folder, 'tokens.json')
  const tokens = {
    all: createAccessToken(file, 'all', ['read', 'write', 'audit', 'erase']),
    read: createAccessToken(file, 'reader', ['read']),
    write: createAccessToken(file, 'writer', ['write']),
  }
  const settings = { store, authenticate: accessTokensIn(file), maxBody: 5_000 }
  const port = await servingAtPort(settings)
  const { ask } = await serving(settings)
  const asking =
    (by: Ask) =>
    ([path, given = {}]: Request, more: Asked['headers'] = {}, replaced: Partial<Asked> = {}) =>
      by(path.replace('{worker}', worker).replace('{bisection}', bisection), {
        leaves: true,
        ...given,
        ...replaced,
        headers: { authorization: `Bearer ${tokens.all}`, ...given.headers, ...more },
      })
  const end = async (): Promise<void> => {
    await port.close()
    await close()
    rmSync(folder, { recursive: true })
  }
  return { asked: asking(port.ask), askedWithoutPort: asking(ask), tokens, end }
}

/** One for all that changes nothing. */
let shared: Awaited<ReturnType<typeof scene>>
beforeAll(async () => {
  shared = await scene()
})
afterAll(() => shared.end())

/** What the connection it came by does not change. */
const comparable = ({ status, headers, text }: Got) => {
  const same = [...headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name))
  return { status, headers: Object.fromEntries(same), text }
}

test('each route has a row here, and each row a route', () => {
  expect(Object.keys(rows).toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
})

describe.each(
  routes.flatMap((route) => (rows[route.name] ? [{ ...route, row: rows[route.name] as Row }] : [])),
)('$method $path', ({ method, scope, row: { right, wrong, stale } }) => {
  test('answers who asks rightly, and nobody else', async () => {
    const { asked, tokens, end } = method === 'get' ? shared : await scene()
    if (method === 'post') atEnd(end)
    const by = async (headers: Asked['headers']): Promise<number> => (await asked(right, headers)).status
    expect(await by({ authorization: '' })).toBe(401)
    expect(await by({ authorization: 'Bearer pal_no' })).toBe(401)
    const other = scope === 'read' ? tokens.write : tokens.read
    expect(await by({ authorization: `Bearer ${other}` })).toBe(403)
    expect(await by({ host: 'evil.example' })).toBe(403)
    expect(await by({ origin: 'http://evil.example' })).toBe(method === 'get' ? 200 : 403)
    expect([200, 201, 202]).toContain(await by(method === 'get' ? {} : { origin: 'http://localhost' }))
  })

  test('says what is wrong', async () => {
    const { asked, askedWithoutPort } = shared
    for (const [status, path, given] of wrong) {
      const got = await asked([path, given])
      expect(comparable(got)).toEqual(comparable(await askedWithoutPort([path, given])))
      expect({ path, given, status: got.status }).toEqual({ path, given, status })
      expect(got.json).toMatchObject({ status, detail: expect.any(String) as string })
      expect(got.headers.get('content-type')).toBe('application/problem+json')
    }
    const [path, given] = right
    const more = `${path}${path.includes('?') ? '&' : '?'}nothing=1`
    expect((await asked([more, given])).status).toBe(400)
  })

  test('takes no more, and nothing else, than it should', async () => {
    const { asked } = shared
    const [path] = right
    const long = path.replace(/^(\w+\/)[^/?]+/, `$1${'a'.repeat(301)}`)
    if (long !== path) expect([400, 404]).toContain((await asked([long, right[1]])).status)
    if (method === 'get') return
    const tooLarge = await asked(right, {}, { json: { pad: 'x'.repeat(6_000) } })
    expect(tooLarge).toMatchObject({ status: 413, json: { limit: 5_000 } })
    const text = JSON.stringify(right[1]?.json)
    expect(await asked(right, { 'content-type': 'text/plain' }, { text })).toMatchObject({ status: 415 })
    expect(await asked(right, {}, { text: '{' })).toMatchObject({ status: 400 })
    expect(await asked(right, {}, { text: '[]' })).toMatchObject({ status: 400 })
  })

  if (!stale) return
  test('knows what is out of date', async () => {
    const { asked } = shared
    if (stale !== 'etag') {
      const [status, ...request] = stale
      expect(await asked(request)).toMatchObject({ status })
      return
    }
    const { headers } = await asked(right)
    const etag = headers.get('etag') ?? ''
    const known = await asked(right, { 'if-none-match': etag })
    expect(known).toMatchObject({ status: 304, text: '' })
    const { askedWithoutPort } = shared
    expect(comparable(known)).toEqual(comparable(await askedWithoutPort(right, { 'if-none-match': etag })))
  })
})
