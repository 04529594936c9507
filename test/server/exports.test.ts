import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openStore, registerFormat, type Store } from '../../src/index.ts'
import { anthropicRequest } from '../../src/transfer/formats/write-anthropic.ts'
import { prov } from '../../src/transfer/formats/prov/prov.ts'
import { vcon } from '../../src/transfer/formats/vcon/vcon.ts'
import { palimpsestLines } from '../../src/transfer/formats/write-palimpsest.ts'
import { ownFormats } from '../../src/transfer/formats/registry.ts'
import { eventsIn } from '../../src/cli/conversation.ts'
import { serve } from '../../src/server/serve.ts'
import { atEnd } from '../support/at-end.ts'
import { gathered } from '../support/exported.ts'
import { markdown } from '../support/markdown.ts'
import { type Scene, serving } from '../support/server/asking.ts'
import { temporaryFolder } from '../support/stores.ts'

const path = 'conversations/a/exports'

/** A conversation `a` with a summary, an abandoned branch, a note, and a fork `b` of it. */
const talking = async (): Promise<Scene> => {
  const scene = await serving()
  const chat = scene.store.conversation('a')
  await chat.configure({ system: 'Be brief.' })
  await chat.append([
    { role: 'user', content: 'My key is hunter2.' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'call_1', name: 'login', input: { hunter2: ['hunter22'] } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'no' }] },
    { role: 'assistant', content: 'It failed.' },
  ])
  await chat.note({ kind: 'title', data: 'Keys' })
  await chat.condense({ summary: 'They tried hunter2.', covers: { first: 1, last: 3 } })
  await chat.rewind({ to: 4 })
  await chat.append({ role: 'user', content: 'Again?' })
  await chat.note({ kind: 'title', data: 'Later' })
  const fork = await chat.fork('b', { at: 4 })
  await fork.append({ role: 'user', content: 'Otherwise?' })
  return scene
}

const lines = async (store: Store, id: string): Promise<string> => {
  let all = ''
  for await (const line of palimpsestLines(store.conversation(id).stored())) all += line
  return all
}
/** A folder with what the page is made of, but for its content. */
const fakePage = (): URL => {
  const folder = temporaryFolder()
  for (const name of ['file.js', 'file.css', 'THIRD-PARTY-LICENSES.txt'])
    writeFileSync(join(folder, name), `/* ${name} */`)
  return pathToFileURL(`${folder}/`)
}
const posted = (fetch: Scene['fetch'], json: object, id = 'a') =>
  fetch(`conversations/${id}/exports`, { json })

describe('an export over HTTP', () => {
  test('is a file, the same as the library writes', async () => {
    const { fetch, ask, store } = await talking()
    const chat = store.conversation('a')
    const entries = await chat.full({ abandoned: true })
    const wanted = [
      ['palimpsest', 'a.jsonl', await lines(store, 'a')],
      ['anthropic', 'a.json', `${JSON.stringify(anthropicRequest(await chat.context()), undefined, 2)}\n`],
      ['markdown', 'a.md', markdown('a', entries)],
      ['md', 'a.md', markdown('a', entries)],
      ['vcon', 'a.vcon.json', [...vcon(await eventsIn(chat), 'a')].join('')],
      ['prov', 'a.jsonld', [...prov(await eventsIn(chat), 'a')].join('')],
    ]
    for (const [format, name, text] of wanted) {
      const answer = await posted(fetch, { format })
      expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`)
      expect(answer.headers.get('content-type')).toBe('application/octet-stream')
      expect(await answer.text()).toBe(text)
      expect((await ask(path, { json: { format } })).status).toBe(200)
    }
    expect(await (await posted(fetch, { format: 'palimpsest' }, 'b')).text()).toBe(await lines(store, 'b'))
  })

  test('to a position is as it was then', async () => {
    const { fetch, ask, store } = await talking()
    const at = 4
    const answer = await posted(fetch, { format: 'palimpsest', at })
    const text = await answer.text()
    const copy = await openStore('memory:')
    atEnd(copy.close)
    await copy.importSession({ file: 'a.jsonl', text })
    expect(await copy.conversation('a').effective()).toEqual(await store.conversation('a').effective({ at }))
    expect((await copy.conversation('a').notes()).length).toBe(1)
    const entries = await store.conversation('a').full({ at, abandoned: true })
    expect(await (await posted(fetch, { format: 'markdown', at })).text()).toBe(markdown('a', entries))
    const body = (await (await posted(fetch, { format: 'anthropic', at: 1 })).json()) as {
      messages: unknown[]
    }
    expect(body.messages.length).toBe(1)
    expect(await ask(path, { json: { format: 'markdown', at: 99 } })).toMatchObject({
      status: 404,
      json: { last: 7 },
    })
    expect(await ask('conversations/b/exports', { json: { format: 'palimpsest', at: 2 } })).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('conversation a') as string },
    })
    const fork = await posted(fetch, { format: 'palimpsest', at: 5 }, 'b')
    expect(fork.status).toBe(200)
    expect(await fork.text()).not.toBe('')
  })

  test('has nothing of what is redacted, in any format that can be', async () => {
    atEnd(() => void ownFormats().delete('dump'))
    registerFormat({
      name: 'dump',
      recognises: () => false,
      parse: () => [],
      write: (log, id) => [id, ...log.map((event) => JSON.stringify(event))],
    })
    const { fetch, ask } = await talking()
    // Other tests of this process may have registered formats of their own.
    for (const format of ['anthropic', 'markdown', 'vcon', 'prov', 'dump']) {
      const whole = await (await posted(fetch, { format })).text()
      const text = await (await posted(fetch, { format, redact: ['hunter2', 'hunter22', 'text'] })).text()
      expect(whole).toContain('hunter2')
      expect(text).not.toContain('hunter2')
      expect(text).toContain('[redacted]')
      expect(text).not.toContain('[redacted]2')
    }
    expect(await ask(path, { json: { format: 'palimpsest', redact: ['x'] } })).toMatchObject({ status: 400 })
    expect(await ask(path, { json: { format: 'markdown', redact: [''] } })).toMatchObject({
      status: 400,
      json: { path: 'redact[0]' },
    })
  })

  test('as a page is the file that the command line writes, also by a link', async () => {
    const pageFile = fakePage()
    const { store } = await talking()
    const { fetch, ask } = await serving({ store, pageFile })
    /** What the page holds. */
    const held = (html: string): object => {
      const [, json = ''] = /id="palimpsest-data">(.*?)<\/script>/s.exec(html) ?? []
      return { ...(JSON.parse(json) as object), written: undefined }
    }
    const options = { at: 4, calls: true, redact: /hunter2/ }
    const wanted = { ...(await gathered(store, 'a', options)), written: undefined }
    const json = { format: 'html', at: 4, calls: true, redact: ['hunter2'] }
    const page = await (await posted(fetch, json)).text()
    expect(page).toContain('/* file.css */')
    expect(held(page)).toEqual(wanted)
    const linked = await ask('conversations/a/export?format=html&at=4&calls=true&redact=hunter2')
    expect(held(linked.text)).toEqual(wanted)
    expect(linked.headers.get('content-disposition')).toBe('attachment; filename="a.html"')
    const { ask: unbuilt } = await serving({ store, pageFile: new URL('none/', pageFile) })
    expect(await unbuilt('conversations/a/export?format=html')).toMatchObject({ status: 404 })
  })

  test('as a page has each message once, whatever calls it was sent in, and is read as its reader takes it', async () => {
    const { store } = await serving()
    const chat = store.conversation('a')
    const all = 120
    let content = 0
    for (let n = 0; n < all; n += 2) {
      const said = `${n} <script>`.repeat(1_000)
      content += 2 * said.length
      await chat.append([
        { role: 'user', content: said },
        { role: 'assistant', content: said, origin: { model: 'm', usage: { input_tokens: 1 } } },
      ])
    }
    let read = 0
    const counted: Store = {
      ...store,
      conversation: (id) => {
        const its = store.conversation(id)
        async function* events(...options: Parameters<typeof its.events>) {
          for await (const event of its.events(...options)) {
            read++
            yield event
          }
        }
        return { ...its, events }
      },
    }
    const { fetch } = await serving({ store: counted, pageFile: fakePage() })
    // Without the scan for secrets, which reads everything first.
    const json = { format: 'html', calls: true, force: true }
    const text = await (await posted(fetch, json)).text()
    expect(Buffer.byteLength(text)).toBeLessThan(1.3 * content + 400_000)
    expect(text.match(/data">(.*?)<\/script>/s)?.[1]).toContain(`"p${all - 1}":{}`)
    expect(read).toBeLessThan(2 * all)
    read = 0
    const body = (await posted(fetch, json)).body?.getReader()
    for (let n = 0; n < 10; n++) await body?.read()
    await body?.cancel()
    await new Promise(setImmediate)
    expect(read).toBeLessThan(20)
  })

  test('of the original file is the file, to the byte', async () => {
    const { store, ask, fetch } = await serving()
    const entries = Array.from({ length: 400 }, (_, n) => ({
      type: 'message',
      id: `${n}`,
      parentId: n === 0 ? null : `${n - 1}`,
      message: { role: 'user', content: randomBytes(1_000).toString('hex') },
    }))
    const header = { type: 'session', version: 3, id: 'a', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' }
    const text = [header, ...entries].map((entry) => `${JSON.stringify(entry)}\r\n`).join('')
    const bytes = Buffer.concat([
      Buffer.from(text),
      Buffer.from('{"type":"label","id":"l","parentId":"399","x":"\u00e9"}', 'latin1'),
    ])
    await store.importSession({ file: 'a.jsonl', bytes: Readable.from([bytes]) })
    const linked = await fetch('conversations/a/export?format=original')
    expect(linked.headers.get('content-disposition')).toBe('attachment; filename="a.original"')
    expect(Buffer.from(await linked.arrayBuffer()).equals(bytes)).toBe(true)
    const forced = await posted(fetch, { format: 'original', force: true })
    expect(Buffer.from(await forced.arrayBuffer()).equals(bytes)).toBe(true)
    for (const wrong of [{ at: 1 }, { redact: ['x'] }, { withhold: [1] }])
      expect(await ask(path, { json: { format: 'original', ...wrong } })).toMatchObject({
        status: 400,
        json: { path: Object.keys(wrong)[0] },
      })
    await store.conversation('a').erase({ positions: [1] })
    for (const force of [true, false])
      expect(await ask(path, { json: { format: 'original', force } })).toMatchObject({
        status: 404,
        json: { tag: 'OriginalNotKept', detail: expect.stringContaining('it was erased at') as string },
      })
  })

  test('of an original file with a secret, or with a line that is too long to look through, is refused', async () => {
    const { store, ask, fetch } = await serving()
    const imported = async (id: string, more: object): Promise<void> => {
      const header = { type: 'session', version: 3, id, timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' }
      const message = {
        type: 'message',
        id: 'm',
        parentId: null,
        message: { role: 'user', content: 'Hello.' },
      }
      const text = [header, message, { type: 'label', id: 'l', parentId: 'm', ...more }].map((entry) =>
        JSON.stringify(entry),
      )
      await store.importSession({ file: 'a.jsonl', text: text.join('\n') })
    }
    await imported('secret', { key: `ghp_${'a1B2c3D4e5F6'.repeat(3)}` })
    await imported('long', { padding: ' '.repeat(17 * 1024 * 1024) })
    const original = (id: string, more = '') => `conversations/${id}/export?format=original${more}`
    expect(await ask(original('secret'))).toMatchObject({
      status: 409,
      json: { secrets: [{ in: 'line', position: 3 }] },
    })
    expect(await ask(original('long'))).toMatchObject({ status: 413, json: { tag: 'TooLong' } })
    const forced = await fetch(original('long', '&force=true'))
    expect((await forced.arrayBuffer()).byteLength).toBeGreaterThan(17 * 1024 * 1024)
  })

  test('is refused before it begins, and needs no right to write', async () => {
    const { ask, store } = await talking()
    expect(await ask(path, { json: { format: 'pdf' } })).toMatchObject({
      status: 400,
      json: { path: 'format' },
    })
    expect(await ask('conversations/none/exports', { json: { format: 'markdown' } })).toMatchObject({
      status: 404,
    })
    const reading = await serving({ store, isReadOnly: true })
    expect((await reading.ask(path, { json: { format: 'markdown' } })).status).toBe(200)
  })

  test('is read from the store as its reader takes it', async () => {
    const { fetch, store } = await serving()
    const chat = store.conversation('a')
    const all = 300
    for (let n = 0; n < all; n += 2)
      await chat.append([
        { role: 'user', content: `${n}` },
        { role: 'assistant', content: 'x'.repeat(20_000) },
      ])
    let read = 0
    const counted: Store = {
      ...store,
      conversation: (id) => {
        const its = store.conversation(id)
        async function* stored() {
          for await (const event of its.stored()) {
            read++
            yield event
          }
        }
        return { ...its, stored }
      },
    }
    const scene = await serving({ store: counted })
    const body = (await posted(scene.fetch, { format: 'palimpsest', force: true })).body?.getReader()
    for (let n = 0; n < 10; n++) await body?.read()
    expect(read).toBeLessThan(20)
    await body?.cancel()
    await new Promise(setImmediate)
    expect(read).toBeLessThan(20)
    expect((await (await posted(fetch, { format: 'palimpsest' })).text()).split('\n').length).toBe(all + 1)
  })

  test('that fails on its way breaks off, so that nobody takes it for whole', async () => {
    const store = await openStore('memory:')
    await store.conversation('a').append({ role: 'user', content: 'Hello.' })
    async function* stored() {
      yield* store.conversation('a').stored()
      // What was written before must have left the server.
      await sleep(50)
      throw new Error('the disk is gone')
    }
    const broken: Store = { ...store, conversation: (id) => ({ ...store.conversation(id), stored }) }
    const faults: string[] = []
    const log = { write: (line: string) => faults.push(line) } as unknown as NodeJS.WritableStream
    const server = await serve({ store: broken, port: 0, log })
    atEnd(server.close, store.close)
    const asked = request(`${server.url}/api/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    asked.end('{"format":"palimpsest","force":true}')
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    const read = (async () => {
      for await (const chunk of answer) text += String(chunk)
    })()
    await expect(read).rejects.toThrow('aborted')
    expect(text).toContain('Hello.')
    expect(faults.join('')).toContain('the disk is gone')
  })
})

test('content is withheld at positions, what still tells of it is named, and secrets are refused unless forced', async () => {
  const { fetch, store } = await serving()
  const chat = store.conversation('a')
  const token = `ghp${'_a1B2c3D4e5F6g7H8i9J0'.padEnd(37, 'k1L2m3N4o5P6')}`
  await chat.append([
    { role: 'user', content: 'My card is 4111 1111 1111 1111.' },
    { role: 'assistant', content: 'I know 4111-1111-1111-1111.' },
    { role: 'user', content: token },
  ])
  const refused = await posted(fetch, { format: 'markdown' })
  expect(refused.status).toBe(409)
  expect(await refused.json()).toMatchObject({ tag: 'SecretsFound', secrets: [{ in: 'event', position: 2 }] })
  expect(await (await posted(fetch, { format: 'markdown', force: true })).text()).toContain(token)
  const left = await posted(fetch, { format: 'markdown', withhold: [0, 2] })
  const text = await left.text()
  expect(JSON.parse(left.headers.get('palimpsest-export') ?? '')).toEqual({
    withheld: 2,
    repeated: [{ kind: 'event', position: 1 }],
  })
  for (const [redact, redacted] of [
    ['card', 1],
    ['CARD', 0],
  ] as const) {
    const replaced = await posted(fetch, { format: 'markdown', redact: [redact], withhold: [2] })
    expect(JSON.parse(replaced.headers.get('palimpsest-export') ?? '')).toMatchObject({ redacted })
    // An export that nobody reads keeps its place.
    await replaced.text()
  }
  expect(text).not.toContain('My card')
  const got = await fetch('conversations/a/export?format=markdown&withhold=0,2-2')
  expect(await got.text()).toBe(text)
  expect((await fetch('conversations/a/evidence', { json: {} })).status).toBe(409)
  const bundle = await fetch('conversations/a/evidence', { json: { withhold: [2] } })
  expect((await bundle.arrayBuffer()).byteLength).toBeGreaterThan(1_000)
})
