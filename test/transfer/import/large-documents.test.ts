import { describe, expect, it } from 'vitest'
import { parseSession, type SessionFile } from '../../../src/transfer/formats/parse-session.ts'
import type { ImportPlan, StoredImport } from '../../../src/transfer/formats/plan.ts'
import { maybeDocument } from '../../../src/transfer/read-apart.ts'
import { readAny } from '../../../src/transfer/read-any.ts'
import { fileShelf } from '../../../src/transfer/shelf.ts'
import { openStore } from '../../../src/index.ts'
import { left, right } from '../../support/either.ts'

const messages = Array.from({ length: 300 }, (_, n) => ({
  role: n % 2 === 0 ? 'user' : 'assistant',
  content: `${n} é ${'what is said '.repeat(400)}`,
}))
const documents: readonly (readonly [string, string])[] = [
  ['a request on one line', JSON.stringify({ id: 'large', model: 'm', messages })],
  ['a request on many lines', JSON.stringify({ id: 'large', messages }, undefined, 1)],
  ['a list of messages', `\uFEFF${JSON.stringify(messages)}`],
  [
    'a list with tool calls',
    JSON.stringify([...messages, { role: 'tool', tool_call_id: 'x', content: 'r' }]),
  ],
  ['a list of Roo Code', JSON.stringify(messages.map((message, ts) => ({ ...message, ts })))],
  ['a list that breaks off', JSON.stringify(messages, undefined, 1).slice(0, -40)],
  ['something else', JSON.stringify(messages.map(({ content }) => content))],
]

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 70_001) yield bytes.subarray(at, at + 70_001)
}

/** What a plan says, in memory. */
const said = ({ format, report, conversations }: ImportPlan | StoredImport): unknown => ({
  format,
  report,
  conversations: conversations.map((each) => ({
    id: each.id,
    all: 'actions' in each ? [...each.actions] : [...each.events],
  })),
})

const expectAsParsed = async (given: SessionFile, bytes?: AsyncIterable<Uint8Array>): Promise<void> => {
  const { text, ...options } = given
  const room = fileShelf()
  const { read } = await readAny(bytes ? { ...options, bytes } : given, room)
  const parsed = parseSession({ text, ...options })
  if (parsed._tag === 'Left') expect(left(read)).toEqual(parsed.left)
  else expect(said(right(read))).toEqual(said(parsed.right))
  room.close()
}

describe('a large JSON document', () => {
  it.each(documents)('%s: is read in another thread as it is read in this one', async (_, text) => {
    expect(maybeDocument(text.slice(0, 1_000_000))).toBe(true)
    await expectAsParsed({ text, file: 'f' }, bytesOf(text))
  })

  it.each(documents.filter(([name]) => /one line|breaks off/.test(name)))(
    '%s: is read so as a text, too',
    async (_, text) => expectAsParsed({ text, file: 'f' }),
  )

  it('is imported from its bytes as from its text', async () => {
    const [[, text] = ['', '']] = documents
    const store = await openStore('memory:')
    const first = await store.importSession({ file: 'f', bytes: bytesOf(text) })
    expect(first.conversations).toEqual([{ id: 'large', added: 301, events: 301 }])
    expect((await store.importSession({ file: 'f', text })).conversations).toMatchObject([{ added: 0 }])
    await store.close()
  })

  it('whose bytes break off, or are none, is refused', async () => {
    const [[, text] = ['', '']] = documents
    const store = await openStore('memory:')
    const torn = (async function* () {
      yield* bytesOf(text)
      throw new Error('torn')
    })()
    await expect(store.importSession({ file: 'f', bytes: torn })).rejects.toMatchObject({
      _tag: 'FileUnreadable',
    })
    const wrong = (async function* () {
      yield* bytesOf(text)
      yield 'text' as unknown as Uint8Array
    })()
    await expect(store.importSession({ file: 'f', bytes: wrong })).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    for await (const { id } of store.conversations()) expect(id).toBe('none')
    await store.close()
  })
})

describe('what may be a document', () => {
  it.each([
    ['{"type":"user"}\n{"type":', false],
    ['hello', false],
    ['', false],
    ['{\n "messages": [', true],
    [' [{"role":', true],
    ['{"messages": [{"role": "user"', true],
  ])('%j: %s', (beginning, isOne) => {
    expect(maybeDocument(beginning)).toBe(isOne)
  })
})
