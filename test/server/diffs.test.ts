import { describe, expect, test } from 'vitest'
import { serving } from '../support/server/asking.ts'

/** `a`: two turns, of which the first is truncated away (4), another system prompt (5), and a rewind to before both (6). */
const compared = async () => {
  const scene = await serving()
  const chat = scene.store.conversation('a')
  for (const content of ['One.', 'Two.', 'Three.', 'Four.'])
    await chat.append({ role: content === 'One.' || content === 'Three.' ? 'user' : 'assistant', content })
  await chat.truncate({ covers: { first: 0, last: 1 } })
  await chat.configure({ system: 'In one word.' })
  await chat.rewind({ to: 3 })
  const diff = async (query: string) => (await scene.ask(`conversations/a/diff?${query}`)).json
  return { ...scene, diff }
}
const said = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] })

describe('the difference of two full histories', () => {
  test('is what came and what became something else, each with the event that made it so', async () => {
    const { diff } = await compared()
    expect(await diff('of=full&from=3&to=5')).toMatchObject({
      of: 'full',
      from: 3,
      to: 5,
      changes: [
        { change: 'turned', was: { status: 'active' }, entry: { position: 0, status: 'truncated', by: 4 } },
        { change: 'turned', was: { status: 'active' }, entry: { position: 1, status: 'truncated', by: 4 } },
        { change: 'appeared', entry: { position: 4, kind: 'truncation', status: 'active' } },
      ],
    })
    const rewound = (await diff('of=full&from=5')) as { readonly changes: readonly object[] }
    expect(rewound.changes).toMatchObject([
      { change: 'turned', was: { status: 'truncated', by: 4 }, entry: { position: 0, status: 'active' } },
      { change: 'turned', was: { status: 'truncated', by: 4 }, entry: { position: 1, status: 'active' } },
      { change: 'turned', was: { status: 'active' }, entry: { position: 4, status: 'abandoned', by: 6 } },
    ])
  })

  test('backwards, is what was not there yet; before the first event there is nothing', async () => {
    const { diff } = await compared()
    const { changes } = (await diff('of=full&from=3&to=0')) as { readonly changes: readonly object[] }
    expect(changes).toMatchObject(
      [1, 2, 3].map((position) => ({ change: 'disappeared', entry: { position } })),
    )
    expect(await diff('of=full&from=-1&to=0')).toMatchObject({
      changes: [{ change: 'appeared', entry: { position: 0 } }],
    })
    expect(await diff('of=full&from=3&to=3')).toMatchObject({ changes: [] })
  })

  test('is cut where it is asked to be', async () => {
    const { diff } = await compared()
    expect(await diff('of=full&from=-1&to=0&clip=2')).toMatchObject({
      changes: [{ entry: { content: [{ text: 'On' }], cuts: [{ block: 0, field: 'text', length: 4 }] } }],
    })
  })
})

describe('the difference of two requests', () => {
  test('is the messages between those that are the same, and other parts', async () => {
    const { diff } = await compared()
    expect(await diff('of=request&from=1&to=3')).toEqual({
      of: 'request',
      from: 1,
      to: 3,
      first: 2,
      last: 0,
      disappeared: [],
      appeared: [said('user', 'Three.'), said('assistant', 'Four.')],
      parts: [],
    })
    const truncated = await diff('of=request&from=3&to=5')
    expect(truncated).toMatchObject({ first: 0, parts: [{ name: 'system', after: 'In one word.' }] })
    const back = await diff('of=request&from=5')
    expect(back['appeared']).toEqual(truncated['disappeared'])
    expect(back['disappeared']).toEqual(truncated['appeared'])
    expect(back['last']).toBe(truncated['last'])
  })

  test('from before the first event is the whole request', async () => {
    const { diff } = await compared()
    expect(await diff('of=request&from=-1&to=0')).toMatchObject({
      first: 0,
      last: 0,
      disappeared: [],
      appeared: [said('user', 'One.')],
    })
  })
})

test('a difference of nothing that there is is refused', async () => {
  const { ask } = await compared()
  expect(await ask('conversations/a/diff?from=0&of=words')).toMatchObject({
    status: 400,
    json: { path: 'of' },
  })
  for (const of of ['effective', 'full', 'request'])
    expect(await ask(`conversations/a/diff?from=0&to=99&of=${of}`)).toMatchObject({
      status: 404,
      json: { tag: 'OutOfRange' },
    })
})

test('the difference of positions that are far apart is the one that a reading of the whole log gives', async () => {
  const { store, ask } = await serving()
  const chat = store.conversation('a')
  const say = (count: number) =>
    chat.append(Array.from({ length: count }, (_, n) => ({ role: 'user' as const, content: `Say ${n}.` })))
  await say(1_500)
  await chat.condense({ covers: { first: 10, last: 1_400 }, summary: 'Said.' })
  await say(1_500)
  const { position } = await chat.truncate({ covers: { first: 2_000, last: 2_100 } })
  await say(300)
  await chat.rewind({ to: position + 100 })
  await chat.condense({ covers: { first: 1_500, last: 1_600 }, summary: 'Said again.' })
  await chat.restore({ marker: position })
  const last = (await say(100)).position
  for (const [from, to] of [
    [5, last],
    [1_499, last],
    [-1, last],
    [0, position],
    [1_200, position + 250],
    [last, 5],
  ] as const) {
    const { json } = await ask(`conversations/a/diff?from=${from}&to=${to}`)
    expect(json).toEqual(JSON.parse(JSON.stringify(await chat.diff({ from, to }))))
  }
})
