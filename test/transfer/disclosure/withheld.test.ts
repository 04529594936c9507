import { describe, expect, test } from 'vitest'
import { dataSchemas, metadataSchema } from '../../../src/events/events.ts'
import { registerFormat, type Conversation, openStore } from '../../../src/index.ts'
import { prepareExport } from '../../../src/transfer/disclosure/prepare.ts'
import { readWithheld } from '../../../src/transfer/disclosure/withheld.ts'
import { patternRedactor } from '../../../src/transfer/disclosure/redact.ts'
import { exporterOf, ownFormats } from '../../../src/transfer/formats/registry.ts'
import { atEnd } from '../../support/at-end.ts'
import { gathered } from '../../support/exported.ts'

const secret = 'The launch code of the northern station is osprey'

const scene = async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('a')
  await chat.configure({
    system: `Know: ${secret}.`,
    tools: [{ name: 'tell', input_schema: { type: 'object' } }],
  })
  await chat.append([
    { role: 'user', content: secret },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'tell', input: { of: secret } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: secret }] },
    { role: 'assistant', content: `You said: ${secret}!` },
    { role: 'user', content: 'Thanks.' },
  ])
  await chat.condense({ summary: secret, covers: { first: 1, last: 3 } })
  return { store, chat }
}

const everything = [0, 1, 2, 3, 4, 6]
const prepared = async (chat: Conversation, format: string, withhold: readonly number[], redact?: RegExp) =>
  prepareExport(chat, { format, at: await chat.position(), isWhole: true, withhold, redact })

describe('a withheld event', () => {
  test.each(['markdown', 'anthropic', 'atif', 'vcon', 'prov', 'html', 'events'])(
    'leaves no word in %s',
    async (format) => {
      registerFormat({
        name: 'events',
        recognises: () => false,
        parse: () => [],
        write: (log) => [JSON.stringify(log)],
      })
      atEnd(() => void ownFormats().delete('events'))
      const { store, chat } = await scene()
      const { withheld, repeated } = await prepared(chat, format, everything)
      const exporter = await exporterOf(format)
      let text = exporter ? '' : JSON.stringify(await gathered(store, 'a', { calls: true, withheld }))
      for await (const piece of exporter?.pieces(chat, { withheld }) ?? []) text += piece
      expect(text).not.toMatch(/launch|osprey/)
      expect(text).toMatch(/withheld/i)
      expect(text).toContain('Thanks.')
      // What stays is the title of the page.
      expect(repeated).toEqual([])
    },
  )

  test('is a valid event without its salt', async () => {
    const { chat } = await scene()
    const { withheld } = await prepared(chat, 'markdown', [0, 1, 2, 3, 4, 6])
    for (const { stub } of withheld.values()) {
      expect(dataSchemas[stub.type].safeParse(stub.data).error).toBeUndefined()
      expect(metadataSchema.safeParse(stub.metadata).error).toBeUndefined()
      expect(stub.metadata.salt).toBeUndefined()
    }
  })

  test('must exist', async () => {
    const { chat } = await scene()
    await expect(prepared(chat, 'markdown', [9])).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: 'withhold: must be a list of positions from 0 to 6',
    })
    const fork = await chat.fork('b', { at: 0 })
    await expect(prepared(fork, 'markdown', [1])).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })
})

const key = `ghp_${'x7Kq2'.repeat(7)}f`

test.each([
  ['said', `My key is ${key} and it works.`],
  [
    'typed as a command',
    `<command-message>login</command-message>\n<command-name>/login</command-name>\n<command-args>${key}</command-args>`,
  ],
])(
  'a title that repeats a withheld message is not exported, and no secret in it is found: %s',
  async (_, content) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('keyed')
    await chat.append([
      { role: 'user', content },
      { role: 'assistant', content: 'I will not repeat it.' },
    ])
    let title = ''
    for await (const info of store.conversations()) title = info.title
    expect(title).toContain(key)
    const wishes = { format: 'html', at: 1, isWhole: true, title }
    await expect(prepareExport(chat, wishes)).rejects.toMatchObject({ _tag: 'SecretsFound' })
    const { withheld, repeated } = await prepareExport(chat, { ...wishes, withhold: [0] })
    expect(repeated).toEqual([])
    expect(JSON.stringify(await gathered(store, 'keyed', { withheld }))).not.toContain(key)
  },
)

describe('words of what is left out', () => {
  test('are named wherever they are exported, and only there', async () => {
    const { chat } = await scene()
    const placesIn = async (format: string) =>
      (await prepared(chat, format, [1])).repeated.map(({ place, of }) => [place.kind, place.position, of])
    expect(await placesIn('markdown')).toEqual([0, 2, 3, 4, 6].map((at) => ['event', at, [1]]))
    // The others are no longer shown.
    expect(await placesIn('anthropic')).toEqual([0, 6, 4].map((at) => ['event', at, [1]]))
    await chat.note({ kind: 'my-agent/remark', data: secret })
    expect(await placesIn('html')).toContainEqual(['note', 6, [1]])
  })

  test('are named if a pattern matches them in another form only', async () => {
    const { chat } = await scene()
    await chat.append({ role: 'user', content: 'It is OSPREY.' })
    const { repeated } = await prepared(chat, 'markdown', [], /osprey/u)
    expect(repeated).toMatchObject([{ place: { kind: 'event', position: 7 }, of: [0] }])
    let text = ''
    const exporter = await exporterOf('markdown')
    for await (const piece of exporter?.pieces(chat, { redact: patternRedactor(/osprey/u) }) ?? [])
      text += piece
    expect(text).not.toContain('osprey')
  })
})

describe('an export with a secret', () => {
  const token = `ghp${'_a1B2c3D4e5F6g7H8i9J0'.padEnd(37, 'k1L2m3N4o5P6')}`

  test('is refused unless the secret is left out or the export is forced', async () => {
    const { chat } = await scene()
    await chat.append({ role: 'user', content: `Use ${token}.` })
    for (const format of ['palimpsest', 'markdown', 'anthropic', 'atif', 'vcon', 'prov', 'html'])
      await expect(prepared(chat, format, [])).rejects.toMatchObject({
        _tag: 'SecretsFound',
        conversation: 'a',
        secrets: [{ in: 'event', position: 7, kind: 'GITHUB_TOKEN', excerpt: 'ghp_… (40 characters)' }],
        message: expect.not.stringContaining(token) as string,
      })
    await expect(prepared(chat, 'markdown', [7])).resolves.toBeDefined()
    await expect(prepared(chat, 'markdown', [], /ghp_\w+/u)).resolves.toBeDefined()
    await expect(
      prepareExport(chat, { format: 'markdown', at: 7, isWhole: true, force: true }),
    ).resolves.toBeDefined()
    await expect(prepareExport(chat, { format: 'markdown', at: 6, isWhole: false })).resolves.toBeDefined()
  })

  test('is found in notes', async () => {
    const { chat } = await scene()
    await chat.note({ kind: 'my-agent/remark', data: { token } })
    for (const format of ['palimpsest', 'html'])
      await expect(prepared(chat, format, [])).rejects.toMatchObject({
        secrets: [{ in: 'note', position: 6 }],
      })
  })
})

describe('a palimpsest export', () => {
  test('can leave nothing out', async () => {
    const { chat } = await scene()
    for (const { withhold, redact } of [{ withhold: [1] }, { withhold: [], redact: /x/u }])
      await expect(prepared(chat, 'palimpsest', withhold, redact)).rejects.toMatchObject({
        _tag: 'InvalidInput',
        message: expect.stringContaining('choose another format') as string,
      })
  })
})

test('as many events as a conversation has may be withheld', async () => {
  const positions = Array.from({ length: 200_000 }, (_, position) => position)
  const asked: unknown[] = []
  const stored = (range: unknown) => {
    asked.push(range)
    return (async function* () {})()
  }
  await readWithheld({ stored }, positions, 200_000)
  expect(asked).toEqual([{ to: 199_999 }])
})
