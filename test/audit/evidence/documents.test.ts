import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { hashOf } from '../../../src/events/codec.ts'
import { isError } from '../../../src/index.ts'
import { exportsOf, say, storeOf } from '../ledger/scene.ts'
import { temporaryFolder } from '../../support/stores.ts'

const secret = 'The launch code is 0000.'
const scene = async () => {
  const store = await storeOf('memory')
  const chat = store.conversation('a')
  await chat.append([
    { role: 'user', content: secret },
    { role: 'assistant', content: `You said: ${secret}` },
    { role: 'user', content: 'Thanks.' },
  ])
  await chat.condense({ summary: 'They were told.', covers: { first: 0, last: 1 } })
  return { store, chat }
}
const refused = (work: Promise<unknown>, tag: 'FileExists' | 'InvalidInput'): Promise<boolean> =>
  work.then(
    () => false,
    (error: unknown) => isError(error, tag),
  )

describe('what still tells of what is withheld', () => {
  it('is named: summaries made of it, and events that say it again to the letter', async () => {
    const { chat } = await scene()
    const told = { tainted: [{ position: 3, of: [0] }], repeated: [{ position: 1, of: [0] }] }
    expect(await chat.evidence({ folder: join(temporaryFolder(), 'e'), withhold: [0] })).toMatchObject(told)
    const file = join(temporaryFolder(), 'new', 'a.jsonld')
    expect(await chat.document({ file, format: 'prov', withhold: [0] })).toMatchObject(told)
  })

  it('is not what is withheld as well, nor what is too short to be told from anything', async () => {
    const { chat } = await scene()
    const withheld = async (withhold: readonly number[]) =>
      (await chat.evidence({ folder: join(temporaryFolder(), 'e'), withhold })).repeated
    expect(await withheld([0, 1])).toEqual([])
    await chat.append({ role: 'assistant', content: 'Thanks. Thanks.' })
    expect(await withheld([2])).toEqual([])
  })

  it('is found in calls and results, at any depth', async () => {
    const store = await storeOf('memory')
    const chat = store.conversation('a')
    await chat.append([
      { role: 'user', content: secret },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'tell', input: { to: [{ text: `<${secret}>` }] } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: secret }] },
    ])
    const { repeated } = await chat.evidence({ folder: join(temporaryFolder(), 'e'), withhold: [0] })
    expect(repeated).toEqual([
      { position: 1, of: [0], excerpt: 'th… (23 characters)' },
      { position: 2, of: [0], excerpt: 'th… (23 characters)' },
    ])
  })
})

describe('a document for other programs', () => {
  it('has the hash of what is withheld, and not its text', async () => {
    const { chat } = await scene()
    let hash = ''
    for await (const event of chat.stored({ to: 0 })) hash = hashOf(event)
    for (const format of ['vcon', 'prov'] as const) {
      const file = join(temporaryFolder(), 'a.json')
      expect(await chat.document({ file, format, withhold: [0, 1] })).toMatchObject({
        conversation: 'a',
        events: 4,
        withheld: [0, 1],
      })
      const text = readFileSync(file, 'utf8')
      expect(text).not.toContain('launch')
      expect(text).toContain(hash)
      expect(await refused(chat.document({ file, format }), 'FileExists')).toBe(true)
    }
  })

  it('has no text that matches a pattern', async () => {
    const { chat } = await scene()
    const file = join(temporaryFolder(), 'a.json')
    await chat.document({ file, format: 'vcon', withhold: [0], redact: /launch \w+/u })
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('launch')
    expect(text).toContain('You said: The [redacted] is 0000.')
    const wrong: object = { file: `${file}2`, format: 'vcon', redact: 'launch' }
    expect(await refused(chat.document(wrong as Parameters<typeof chat.document>[0]), 'InvalidInput')).toBe(
      true,
    )
  })

  it('is refused where positions, format or file are wrong, and a fork keeps where it is from', async () => {
    const { chat } = await scene()
    const fork = await chat.fork('b', { at: 0 })
    const file = join(temporaryFolder(), 'b.json')
    for (const options of [
      { file, format: 'vcon', withhold: [1] },
      { file, format: 'vcon', withhold: [9] },
      { file, format: 'palimpsest' },
      { file: '', format: 'vcon' },
    ])
      expect(
        await refused(fork.document(options as Parameters<typeof fork.document>[0]), 'InvalidInput'),
      ).toBe(true)
  })
})

// There, a parent exists and refuses every name.
test.skipIf(process.platform !== 'linux')('a folder that cannot be made is an error at once', async () => {
  const { chat, store } = await scene()
  await say(store, ['c'])
  expect(await refused(chat.evidence({ folder: '/proc/none/evidence' }), 'InvalidInput')).toBe(true)
  expect(await refused(chat.document({ file: '/proc/none/a.json', format: 'vcon' }), 'InvalidInput')).toBe(
    true,
  )
})

test('exports are recorded, the newest first', async () => {
  const { store } = await scene()
  await store.audit.recordExport({ conversations: ['a'], format: 'bundle', by: 'ann', reason: 'complaint 7' })
  await store.audit.recordExport({ conversations: ['a', 'b'], format: 'prov', by: 'bob', withheld: [3] })
  expect(await exportsOf(store)).toMatchObject([
    { conversations: ['a', 'b'], format: 'prov', by: 'bob', withheld: [3] },
    { conversations: ['a'], format: 'bundle', by: 'ann', reason: 'complaint 7' },
  ])
  expect(
    await refused(store.audit.recordExport({ conversations: [], format: 'x', by: 'y' }), 'InvalidInput'),
  ).toBe(true)
})

test('neither a bundle nor a document is written if its content looks like a secret, unless it is forced', async () => {
  const chat = (await storeOf('memory')).conversation('a')
  const token = ['ghp', 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6'].join('_')
  await chat.append([
    { role: 'user', content: 'Hello.' },
    { role: 'user', content: `My token is ${token}.` },
  ])
  const folder = temporaryFolder()
  const found = { _tag: 'SecretsFound', secrets: [{ in: 'event', position: 1 }] }
  const bundle = { folder: join(folder, 'bundle') }
  await expect(chat.evidence(bundle)).rejects.toMatchObject({
    ...found,
    message: expect.stringMatching(/withhold 1, or export anyway with force$/),
  })
  const document = { file: join(folder, 'a.json'), format: 'vcon' } as const
  await expect(chat.document(document)).rejects.toMatchObject(found)
  expect(readdirSync(folder)).toEqual([])

  await chat.evidence({ ...bundle, withhold: [1] })
  await chat.evidence({ folder: join(folder, 'forced'), force: true })
  await chat.document({ ...document, redact: /ghp_\w+/u })
  await chat.document({ file: join(folder, 'b.json'), format: 'prov', withhold: [1] })
  await chat.document({ file: join(folder, 'c.json'), format: 'vcon', force: true })
  const written = (name: string): string => readFileSync(join(folder, name), 'utf8')
  expect(['a.json', 'b.json', 'c.json'].map((name) => written(name).includes(token))).toEqual([
    false,
    false,
    true,
  ])
})
