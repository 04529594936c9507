import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import { jsonFile, jsonText } from '../../src/cli/options.ts'
import { openClient } from '../../src/server/client/index.ts'
import { parseBoundedJson } from '../../src/events/json.ts'
import { replyDraft } from '../../src/agent/models/streaming/reply.ts'
import { jsonIn } from '../../src/server/body.ts'
import { jsonl } from '../support/import-log.ts'
import { opened, temporaryFolder } from '../support/stores.ts'

// What is nested thousands of levels deep parses, and then ends everything that walks through it. Whoever gives such a value gets a typed error.

const depths = [6_000, 100_000]
const textOf = (levels: number): string => `${'{"a":['.repeat(levels / 2)}1${']}'.repeat(levels / 2)}`
const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** A JSON line with the deep text in place of `DEEP`. */
const line = (fields: object, levels: number): string => jsonl(fields).replaceAll('"DEEP"', textOf(levels))
const user = {
  uuid: 'u',
  parentUuid: null,
  sessionId: 's',
  type: 'user',
  message: { role: 'user', content: 'Hello.' },
}

const deepLines: readonly (readonly [string, object])[] = [
  ['a message of Claude Code', { ...user, uuid: 'v', message: { role: 'user', content: 'DEEP' } }],
  [
    'a result of Claude Code',
    {
      ...user,
      uuid: 'v',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'DEEP' }] },
    },
  ],
  ['a queued prompt', { type: 'queue-operation', operation: 'enqueue', sessionId: 's', content: 'DEEP' }],
  [
    'an attachment',
    {
      ...user,
      uuid: 'v',
      type: 'attachment',
      message: undefined,
      attachment: { type: 'file', content: 'DEEP' },
    },
  ],
]

describe.each(depths)('what is nested %i levels deep', (levels) => {
  it.each(deepLines)('is a bad line: %s', async (_, fields) => {
    const text = jsonl(user) + line(fields, levels)
    const store = await opened('memory:')
    const bytes = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text)
    }
    for (const session of [{ text }, { bytes }])
      await expect(store.importSession({ file: 'f', ...session })).rejects.toMatchObject({
        _tag: 'BadLine',
        line: 2,
      })
    const skipped = await store.importSession({ file: 'f', text, skipBadLines: true })
    expect(skipped).toMatchObject({ conversations: [{ added: 1 }], report: { badLines: [{ line: 2 }] } })
  })

  it.each([
    [
      'openai',
      {
        meta: 'DEEP',
        messages: [
          { role: 'user', content: 'x' },
          { role: 'tool', content: 'y' },
        ],
      },
    ],
    ['openai', [{ role: 'developer', content: 'DEEP' }]],
    ['anthropic', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', z: 'DEEP' }] }] }],
    ['roo', [{ role: 'user', content: [{ type: 'text', text: 'x', z: 'DEEP' }], ts: 1 }]],
    ['pi', { type: 'session', id: 'p', version: 3, cwd: '/', x: 'DEEP' }],
    [
      'palimpsest',
      { conversation: 'x', revision: 0, id: 'e', type: 'MessageAppended', data: 'DEEP', metadata: {} },
    ],
  ])('is refused in %s', async (format, document) => {
    const text = line(document, levels)
    const store = await opened('memory:')
    for (const given of [{}, { format }])
      await expect(store.importSession({ file: 'f', text, ...given })).rejects.toMatchObject({
        _tag: expect.stringMatching(/^(BadLine|UnknownFormat)$/),
      })
  })

  it('is refused by a conversation', async () => {
    const chat = (await opened('memory:')).conversation('c')
    const deep = nested(levels) as never
    const refused = [
      () => chat.append({ role: 'user', content: deep }),
      () =>
        chat.append({ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'n', input: deep }] }),
      () => chat.append(deep),
      () => chat.append({ role: 'user', content: 'x' }, { actor: deep }),
      () => chat.configure({ parameters: deep }),
    ]
    for (const ask of refused) await expect(ask()).rejects.toMatchObject({ _tag: 'InvalidInput' })
  })

  it('is refused as the body of a request', () => {
    expect(() => jsonIn('application/json', textOf(levels))).toThrow(
      expect.objectContaining({ _tag: 'InvalidRequest', message: expect.stringContaining('nested deeper') }),
    )
  })

  it('is refused before a client sends it', async () => {
    const chat = openClient('http://127.0.0.1:1').conversation('c')
    await expect(chat.append({ role: 'user', content: nested(levels) as never })).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
  })

  it('is refused by the command line', async () => {
    const file = join(temporaryFolder(), 'prices.json')
    writeFileSync(file, textOf(levels))
    await expect(jsonFile(file)).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringContaining('nested deeper'),
    })
    expect(() => jsonText(textOf(levels))).toThrow(InvalidArgumentError)
  })

  it('is a text where a model gives it as an input', () => {
    const draft = replyDraft()
    draft.add({ type: 'message_start', message: { id: 'm', usage: {} } })
    draft.add({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'a', name: 'n', input: {} },
    })
    const delta = { type: 'input_json_delta', partial_json: textOf(levels) }
    draft.add({ type: 'content_block_delta', index: 0, delta })
    draft.add({ type: 'content_block_stop', index: 0 })
    draft.add({ type: 'message_stop' })
    expect(draft.whole()?.content).toMatchObject([{ input: textOf(levels) }])
  })
})

describe('the levels of a JSON text', () => {
  it('may be as many as are asked for', () => {
    expect(parseBoundedJson('[[[1]]]', 3)).toEqual([[[1]]])
    expect(() => parseBoundedJson('[[[1]],[[[[1]]]]]', 4)).toThrow('nested deeper than 4 levels')
    expect(() => parseBoundedJson('{"a":{"b":{"c":{}}},"d":"eeee"}', 3)).toThrow(
      'nested deeper than 3 levels',
    )
    expect(parseBoundedJson(textOf(1_400))).toBeDefined()
    expect(() => parseBoundedJson(textOf(1_402))).toThrow('nested deeper than 1400 levels')
  })
})
