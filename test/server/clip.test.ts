import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AnyBlock, type Block, unknownBlock } from '../../src/events/blocks.ts'
import type { ClippedField } from '../../src/projections/clip.ts'
import { anyBlocks } from '../support/random-blocks.ts'
import { runs } from '../support/runs.ts'
import { withoutSalts } from '../support/receipts.ts'
import { type Scene, serving } from '../support/server/asking.ts'

type Fields = Readonly<Record<string, unknown>>
interface Cut {
  readonly position: number
  readonly cuts?: readonly ClippedField[]
}

interface ClippedAnswer extends Cut {
  readonly blocks?: number
  readonly data: { readonly content?: readonly Fields[]; readonly tools?: readonly Fields[] }
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constant('a 😀 b 😀 c'),
)
const long: fc.Arbitrary<Fields> = fc.oneof(
  text.map((said) => ({ type: 'text', text: said })),
  fc
    .tuple(text, text)
    .map(([said, cited]) => ({ type: 'text', text: said, citations: [{ cited_text: cited }] })),
  text.map((thinking) => ({ type: 'thinking', thinking, signature: thinking })),
  fc.tuple(text, fc.jsonValue()).map(([name, value]) => ({
    type: 'tool_use',
    id: `call_${name}`,
    name: `n${name}`,
    input: { name, type: name, value },
  })),
  text.map((content) => ({ type: 'tool_result', tool_use_id: 'call_of_a_long_name', content })),
  fc.tuple(text, text).map((texts) => ({
    type: 'tool_result',
    tool_use_id: 'call',
    content: texts.map((said) => ({ type: 'text', text: said })),
  })),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: Buffer.from(bytes).toString('base64') },
  })),
  text.map((data) => ({ type: 'image', source: { type: 'base64', media_type: 'image/x', data } })),
)
const blocks = fc
  .tuple(fc.array(long, { maxLength: 4 }), anyBlocks)
  .map(
    ([given, any]) =>
      [...given, ...any({ place: 'p', calls: ['call'], servers: ['server'] })] as unknown as Block[],
  )

const stringsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(stringsIn)
      : []

/** The block with what was cut of it as its own read has it. */
const restored = async (
  fetch: Scene['fetch'],
  path: string,
  block: Fields,
  cuts: readonly ClippedField[],
): Promise<Fields> => {
  const isPlain = cuts.every(({ field }) => field === (block['type'] === 'image' ? 'data' : 'text'))
  const answer = await fetch(isPlain ? path : `${path}?as=json`)
  const type = answer.headers.get('content-type')
  if (type === 'application/json') return (await answer.json()) as Fields
  if (type === 'text/plain; charset=utf-8') return { ...block, text: await answer.text() }
  const data = Buffer.from(await answer.arrayBuffer()).toString('base64')
  return { ...block, source: { ...(block['source'] as Fields), data } }
}

const withBlocks = async (
  cut: Cut,
  change: (block: Fields, index: number) => Promise<Fields>,
): Promise<unknown> => {
  const { cuts: _, ...rest } = structuredClone(cut) as Cut & Record<string, unknown>
  const data = (rest['data'] ?? rest) as Record<string, unknown>
  const tools = data['tools'] as Fields[] | undefined
  const { system } = data
  let index = 0
  const changed = async (list: readonly Fields[]): Promise<Fields[]> => {
    const all: Fields[] = []
    for (const block of list) all.push(await change(block, index++))
    return all
  }
  if (Array.isArray(data['content'])) data['content'] = await changed(data['content'] as Fields[])
  for (const said of (data['messages'] ?? data['summary'] ?? []) as { content: Fields[] }[])
    said.content = await changed(said.content)
  if (typeof system === 'string')
    data['system'] = (await changed([{ type: 'text', text: system }]))[0]?.['text']
  else if (Array.isArray(system)) data['system'] = await changed(system as Fields[])
  if (tools) data['tools'] = await changed(tools)
  return rest
}

describe('a clipped read', () => {
  test('has what the whole one has, once its cut blocks are read', async () => {
    const { fetch, store } = await serving()
    const all = async (path: string): Promise<readonly Cut[]> =>
      ((await (await fetch(path)).json()) as { readonly items: readonly Cut[] }).items
    let count = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(blocks, { minLength: 1, maxLength: 3 }),
        blocks,
        text,
        fc.integer({ min: 1, max: 30 }),
        async (messages, summary, system, clip) => {
          const id = `c-${count++}`
          const chat = store.conversation(id)
          await chat.configure({
            system,
            tools: [{ name: 'run', description: system, input_schema: { type: 'object' } }],
          })
          await chat.append(messages.map((content) => ({ role: 'user', content })))
          await chat.condense({
            summary: [
              { role: 'user', content: 'They met.' },
              { role: 'assistant', content: summary },
            ],
            covers: { first: 1, last: 1 },
          })
          for (const path of ['events?', 'effective?', 'full?abandoned=true&']) {
            const whole = await all(`conversations/${id}/${path}`)
            const cut = await all(`conversations/${id}/${path}clip=${clip}`)
            expect(cut.length).toBe(whole.length)
            for (const [index, one] of cut.entries()) {
              const given = JSON.stringify(whole[index])
              if (!one.cuts) expect(JSON.stringify(one)).toBe(given)
              const back = await withBlocks(one, async (block, at) => {
                const its = (one.cuts ?? []).filter((known) => known.block === at)
                return its.length === 0
                  ? block
                  : restored(fetch, `conversations/${id}/events/${one.position}/blocks/${at}`, block, its)
              })
              expect(back).toEqual(whole[index])
              if (
                JSON.stringify(back).isWellFormed() &&
                stringsIn(whole[index]).every((part) => part.isWellFormed())
              )
                expect(stringsIn(one).every((part) => part.isWellFormed())).toBe(true)
            }
          }
        },
      ),
      { numRuns: runs(100) },
    )
  })

  test('keeps so many characters of each string, says how many there are, and cuts nothing by which blocks are known', async () => {
    const { ask, store } = await serving()
    const id = 'call_with_a_long_id'
    await store.conversation('a').append([
      { role: 'user', content: 'x'.repeat(1_000) },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id, name: 'a_long_name', input: { path: 'p'.repeat(20), n: 1 } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ab😀cd' }] },
    ])
    const { json } = await ask('conversations/a/effective?clip=3')
    expect(json['items']).toMatchObject([
      { content: [{ type: 'text', text: 'xxx' }], cuts: [{ block: 0, field: 'text', length: 1_000 }] },
      {
        content: [{ type: 'tool_use', id, name: 'a_long_name', input: { path: 'ppp', n: 1 } }],
        cuts: [{ block: 0, field: 'input', length: 37 }],
      },
      {
        content: [{ type: 'tool_result', tool_use_id: id, content: 'ab' }],
        cuts: [{ block: 0, field: 'content', length: 6 }],
      },
    ])
    const diff = (await ask('conversations/a/diff?from=-1&clip=3')).json
    const changes = diff['changes'] as readonly { readonly entry: object }[]
    expect(changes.map(({ entry }) => entry)).toMatchObject(withoutSalts(json['items'] as object[]))
  })

  const fields = (most: number): Fields =>
    Object.fromEntries(Array.from({ length: most }, (_, index) => [`field ${index}`, index]))
  const words = (most: number): AnyBlock[] =>
    Array.from({ length: most }, (_, index) => ({ type: 'text', text: `word ${index}` }))
  const call = (input: unknown): AnyBlock => ({ type: 'tool_use', id: 'call', name: 'run', input })
  const tools = (most: number): AnyBlock[] =>
    words(most).map(({ text: description }, index) => ({
      type: 'custom',
      name: `t${index}`,
      description,
      input_schema: {},
    }))

  test.each<readonly [string, readonly AnyBlock[]]>([
    ['an input of 100,000 fields', [call(fields(100_000)), ...words(3)]],
    ['an input with a list of 100,000 entries', [call({ list: Array(100_000).fill(0), then: 'more' })]],
    ['a result of 30,000 blocks', [{ type: 'tool_result', tool_use_id: 'call', content: words(30_000) }]],
    ['a block of 30,000 fields', [{ type: 'strange', id: 'a', ...fields(30_000) }]],
    ['a message of 30,000 blocks', words(30_000)],
    ['tools, 30,000 of them', tools(30_000)],
  ])('has the first 100,000 characters of %s', async (_, whole) => {
    const { fetch, store } = await serving()
    const chat = store.conversation('a')
    await (whole[0]?.type === 'custom'
      ? chat.configure({ tools: whole })
      : chat.append({
          role: whole[0]?.type === 'tool_use' ? 'assistant' : 'user',
          content: whole.map(unknownBlock),
        }))
    const answer = await (await fetch('conversations/a/events?clip=700')).text()
    const [event] = (JSON.parse(answer) as { readonly items: readonly ClippedAnswer[] }).items
    const { content, tools: shown = content } = event?.data ?? {}

    expect(answer.length).toBeLessThan(700_000)
    expect(event?.blocks ?? whole.length).toBe(whole.length)
    expect(shown?.length).toBeGreaterThan(0)
    const block = async (index: number): Promise<string> =>
      (await fetch(`conversations/a/events/${event?.position}/blocks/${index}?as=json`)).text()
    const isWhole = async (index: number): Promise<boolean> =>
      (await block(index)) === JSON.stringify(whole[index])
    for (const cut of event?.cuts ?? []) expect(await isWhole(cut.block)).toBe(true)
    for (const [index, given] of (shown ?? []).entries())
      if (!event?.cuts?.some((cut) => cut.block === index)) expect(given).toEqual(whole[index])
    if (event?.blocks !== undefined) expect(await isWhole(whole.length - 1)).toBe(true)
    expect(event?.cuts?.some(({ omitted }) => omitted) ?? event?.blocks !== undefined).toBe(true)
  })

  test('has an ETag of its own, and a live stream can be clipped as well', async () => {
    const { ask, fetch, store } = await serving()
    await store.conversation('a').append({ role: 'user', content: 'A long message.' })
    const tags = ['', '?clip=6', '?clip=7'].flatMap((query) =>
      ['effective', 'full'].map((way) => `${way}${query}`),
    )
    const seen = await Promise.all(
      tags.map(async (path) => (await ask(`conversations/a/${path}`)).headers.get('etag')),
    )
    expect(new Set(seen).size).toBe(tags.length)
    const { headers } = await ask('conversations/a/events?clip=6&limit=1')
    expect(headers.get('link')).toBeNull()
    const stream = await fetch('conversations/a/events?after=-1&clip=6', {
      headers: { accept: 'text/event-stream' },
    })
    let told = ''
    for await (const chunk of stream.body ?? []) {
      told += Buffer.from(chunk).toString()
      if (told.includes('caught-up')) break
    }
    expect(told).toContain('"text":"A long"')
    expect(told).toContain('"cuts":[{"block":0,"field":"text","length":15}]')
  })

  test.each(['0', '-1', 'x', '1.5'])('of %s characters is refused', async (clip) => {
    const { ask, store } = await serving()
    await store.conversation('a').append({ role: 'user', content: 'Hello.' })
    expect(await ask(`conversations/a/effective?clip=${clip}`)).toMatchObject({
      status: 400,
      json: { path: 'clip' },
    })
  })
})
