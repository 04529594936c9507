import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { runs } from '../support/runs.ts'
import { type Asked, type Scene, serving } from '../support/server/asking.ts'

const picture = Buffer.from('89504e470d0a1a0a', 'hex')
const image = (media_type: string) =>
  ({ type: 'image', source: { type: 'base64', media_type, data: picture.toString('base64') } }) as const
const path = 'conversations/a/events/0/blocks'

const talking = async (): Promise<Scene> => {
  const scene = await serving()
  await scene.store.conversation('a').append({
    role: 'user',
    content: [
      { type: 'text', text: 'Zwölf 😀 <script>' },
      image('image/png'),
      image('image/svg+xml'),
      { type: 'text', text: 'half \ud83d' },
      { type: 'tool_result', tool_use_id: 'call', content: 'done' },
    ],
  })
  return scene
}

describe('a block', () => {
  test('is read as what it is, and as nothing that a browser would run', async () => {
    const { ask, fetch } = await talking()
    const read = async (index: number) => {
      const answer = await fetch(`${path}/${index}`)
      return [answer.headers.get('content-type'), Buffer.from(await answer.arrayBuffer())]
    }
    expect(await read(0)).toEqual(['text/plain; charset=utf-8', Buffer.from('Zwölf 😀 <script>')])
    expect(await read(1)).toEqual(['image/png', picture])
    expect(await read(2)).toEqual(['application/octet-stream', picture])
    expect((await ask(`${path}/3`)).json).toEqual({ type: 'text', text: 'half \ud83d' })
    expect((await ask(`${path}/4`)).json).toEqual({
      type: 'tool_result',
      tool_use_id: 'call',
      content: 'done',
    })
    expect((await ask(`${path}/1?as=json`)).json).toEqual(image('image/png'))
    expect((await ask(`${path}/0`)).headers.get('x-content-type-options')).toBe('nosniff')
    for (const wrong of [
      `${path}/5`,
      'conversations/a/events/9/blocks/0',
      'conversations/none/events/0/blocks/0',
    ])
      expect(await ask(wrong)).toMatchObject({ status: 404 })
  })

  test('of a configuration is its prompt, then its tools', async () => {
    const { ask, store } = await talking()
    const tools = [{ name: 'run', input_schema: { type: 'object' } }]
    await store.conversation('a').configure({ system: 'Be brief.', tools })
    expect((await ask('conversations/a/events/1/blocks/0')).text).toBe('Be brief.')
    expect((await ask('conversations/a/events/1/blocks/1')).json).toEqual(tools[0])
  })

  test('is read in any part, which together are the whole', async () => {
    const { fetch } = await talking()
    const whole = Buffer.from('Zwölf 😀 <script>')
    await fc.assert(
      fc.asyncProperty(fc.nat(25), fc.nat(30), async (first, last) => {
        const { status, headers, body } = await part(fetch, `bytes=${first}-${last}`)
        if (last < first) expect([status, body]).toEqual([200, whole])
        else if (first >= whole.length) {
          expect([status, headers.get('content-range')]).toEqual([416, `bytes */${whole.length}`])
        } else {
          expect([status, body]).toEqual([206, whole.subarray(first, last + 1)])
          expect(headers.get('content-range')).toBe(
            `bytes ${first}-${Math.min(last, whole.length - 1)}/${whole.length}`,
          )
        }
      }),
      { numRuns: runs(200) },
    )
  })

  test.each([
    ['bytes=-5', 206, 'ript>'],
    ['bytes=-99', 206, 'Zwölf 😀 <script>'],
    ['bytes=15-', 206, 'ript>'],
    ['bytes=-0', 416, undefined],
    ['bytes=20-', 416, undefined],
    ['bytes= 0 - 2', 200, 'Zwölf 😀 <script>'],
    ['bytes=0-1,3-4', 200, 'Zwölf 😀 <script>'],
    ['bytes=a-b', 200, 'Zwölf 😀 <script>'],
    ['bytes=-', 200, 'Zwölf 😀 <script>'],
    ['lines=0-1', 200, 'Zwölf 😀 <script>'],
  ])('asked for %s answers %i', async (range, status, text) => {
    const { fetch } = await talking()
    const got = await part(fetch, range)
    expect(got.status).toBe(status)
    if (text !== undefined) expect(got.body.toString()).toBe(text)
    else expect(JSON.parse(got.body.toString())).toMatchObject({ tag: 'RangeNotSatisfiable', size: 20 })
  })

  test('continues only what the reader has, and is not sent again to one who has it', async () => {
    const { fetch } = await talking()
    const { headers } = await part(fetch, 'bytes=0-2')
    const etag = headers.get('etag') ?? ''
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect((await part(fetch, 'bytes=3-', { 'if-range': etag })).status).toBe(206)
    expect((await part(fetch, 'bytes=3-', { 'if-range': '"other"' })).status).toBe(200)
    expect((await part(fetch, 'bytes=3-', { 'if-range': `W/${etag}` })).status).toBe(200)
    expect(await part(fetch, 'bytes=3-', { 'if-none-match': etag })).toMatchObject({
      status: 304,
      body: Buffer.alloc(0),
    })
    expect((await fetch(`${path}/0?as=json`)).headers.get('etag')).not.toBe(etag)
    const head = await fetch(`${path}/0`, { method: 'HEAD', headers: { range: 'bytes=0-2' } })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

test('content that is stored outside events is read by its hash, and by no other', async () => {
  const store = await openStore('memory:', { largeContent: 1_024 })
  atEnd(store.close)
  const { ask, fetch } = await serving({ store })
  const text = 'Zwölf. '.repeat(300_000)
  await store.conversation('a').append({ role: 'user', content: text })
  const hash = createHash('sha256').update(text).digest('hex')
  const got = await fetch(`blobs/${hash}`)
  expect([got.status, got.headers.get('etag'), await got.text()]).toEqual([200, `"${hash}"`, text])
  const known = await fetch(`blobs/${hash}`, { headers: { 'if-none-match': `"${hash}"` } })
  expect([known.status, await known.text()]).toEqual([304, ''])
  expect(await ask(`blobs/${'0'.repeat(64)}`)).toMatchObject({ status: 404, json: { tag: 'NotFound' } })
  expect(await ask('blobs/no')).toMatchObject({ status: 400, json: { path: 'sha256' } })
  expect(await ask(`blobs/${hash}`)).toMatchObject({ status: 200 })
  await expect(store.blob('no')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    _tag: 'InvalidInput',
  })
})

const part = async (fetch: Scene['fetch'], range: string, headers: Asked['headers'] = {}) => {
  const answer = await fetch(`${path}/0`, { headers: { range, ...headers } })
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) }
}
