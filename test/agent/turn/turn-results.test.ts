import { type AnyBlock } from '../../../src/events/blocks.ts'
import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limitResults, resultBytes } from '../../../src/agent/context/policy/result-limit.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { type Block, isBlock } from '../../../src/events/blocks.ts'
import { type Conversation, openStore, resultReader } from '../../../src/index.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolResult, toolUse } from '../../support/log.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import {
  messagesApi,
  type MessagesApi,
  type MessagesApiOptions,
} from '../../../src/testing/messages-api/server.ts'
import { runs } from '../../support/runs.ts'
import { toolContext } from '../../support/turn-scene.ts'
import { imageOf, pictures, png } from '../../support/pictures.ts'

const model = 'claude-opus-5-5'
const tools = [{ name: 'read', input_schema: { type: 'object' } }]
const call = (name: string, input: unknown = {}): AnyBlock => ({ ...toolUse(''), id: undefined, name, input })

/** A conversation whose model says these, one a request; after that, that it is done. */
const scene = async (
  said: readonly ((body: ApiRequest) => AnyBlock)[],
  options: MessagesApiOptions = {},
): Promise<{
  readonly api: MessagesApi
  readonly chat: Conversation
  readonly turn: (options: Partial<TurnOptions>) => ReturnType<Conversation['turn']>
}> => {
  const api = await messagesApi({
    reply: (body, n) => ({ content: [said[n]?.(body) ?? text('Done.')] }),
    ...options,
  })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Read it.' })
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
  return { api, chat, turn: (more) => chat.turn({ client, model, tools, ...more }) }
}

/** The results in a request, and what they show. */
const resultsIn = (body: ApiRequest | undefined) =>
  (body?.messages ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? content.filter((block) => isBlock(block, 'tool_result')) : [],
  )
const shownIn = (body: ApiRequest | undefined): readonly string[] =>
  resultsIn(body).map(({ content = '' }) =>
    typeof content === 'string'
      ? content
      : content.map((block: Block) => (isBlock(block, 'text') ? block.text : block.type)).join('|'),
  )

const log = async (chat: Conversation) => {
  const events = []
  for await (const event of chat.events()) events.push(event)
  return events
}

describe('a result that is larger than the limit', () => {
  const long = Array.from({ length: 5_000 }, (_, line) => `line ${line} ü\n`).join('')

  it('is recorded whole, and shown head and tail, in one write', async () => {
    const { api, chat, turn } = await scene([() => call('read')])
    await turn({ run: { read: () => long }, maxResult: 1_000 })
    const [shown = ''] = shownIn(api.requests[1]?.body)
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1_000)
    expect(shown).toMatch(/^line 0 ü\n/)
    expect(shown).toMatch(/line 4999 ü\n$/)
    expect(shown).toMatch(/\[Characters \d+ to \d+ of \d+ are left out\. They are recorded/)
    const events = await log(chat)
    const edit = events.findIndex(({ type }) => type === 'Condensed')
    const [whole, edited] = events.slice(edit - 1, edit + 1)
    expect(whole?.data).toMatchObject({ role: 'user', content: [{ content: long }] })
    expect(edited?.metadata.commandId).toBe(whole?.metadata.commandId)
    expect(edited?.data).toMatchObject({
      covers: { first: edit - 1, last: edit - 1 },
      method: 'client',
      policy: { of: 'result', used: Buffer.byteLength(long), allowed: 1_000 },
    })
    expect(await chat.verify()).not.toHaveProperty('discrepancy')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
  })

  it('is one of more than half a byte for each token of the window', async () => {
    const { api, turn } = await scene([() => call('read'), () => call('read')])
    let times = 0
    const read = (): string => 'x'.repeat(times++ === 0 ? 5_000 : 5_001)
    await turn({ run: { read }, context: { window: 10_000 }, parameters: { max_tokens: 100 } })
    const [, , last] = api.requests
    expect(shownIn(last?.body).map((shown) => shown.includes('left out'))).toEqual([false, true])
  })

  it('is read to its end with the reader, whose results keep to the limit', async () => {
    const parts: string[] = []
    /** Asks for the part that the last result names. */
    const next = (body: ApiRequest): AnyBlock => {
      const shown = shownIn(body).at(-1) ?? ''
      const id = resultsIn(body)[0]?.tool_use_id
      const [, head = '', from] = /^([^]*)\n\[Characters.*"from": (\d+)\}\]/.exec(shown) ?? []
      if (from !== undefined) parts.push(head)
      else parts.push(shown.slice(shown.indexOf('\n') + 1))
      const [, following = from] = /^\[Characters.*the next part from (\d+)\]/.exec(shown) ?? []
      return following === undefined
        ? text('Done.')
        : call('read_result', { call_id: id, from: Number(following) })
    }
    const { api, chat, turn } = await scene([() => call('read'), ...Array.from({ length: 100 }, () => next)])
    const { definition, run } = resultReader(chat)
    const content = long.slice(0, 20_000)
    await turn({
      tools: [...tools, definition],
      run: { read: () => content, read_result: run },
      maxResult: 3_000,
    })
    expect(parts.join('')).toBe(content)
    expect(api.requests.every(({ status }) => status === 200)).toBe(true)
    for (const shown of shownIn(api.requests.at(-1)?.body))
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(3_000)
    expect((await log(chat)).filter(({ type }) => type === 'Condensed')).toHaveLength(1)
  })

  it('keeps pictures that fit, and names those that do not', async () => {
    const pdf = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } }
    const { api, turn } = await scene([() => call('read')])
    await turn({
      run: { read: () => [text(long), imageOf(png()), pdf, text('end')] },
      maxResult: 15_000,
    })
    const [result] = resultsIn(api.requests[1]?.body)
    const types = Array.isArray(result?.content) ? result.content.map(({ type }) => type) : []
    expect(types).toEqual(['text', 'image'])
    expect(shownIn(api.requests[1]?.body)[0]).toContain('Too large to be shown: document (block 2)')
  })

  it('is one of many small blocks, too: what is sent counts', async () => {
    const letters = Array.from({ length: 1_000 }, () => text('a'))
    const { api, turn } = await scene([() => call('read')])
    await turn({ run: { read: () => letters }, maxResult: 1_000 })
    const [result] = resultsIn(api.requests[1]?.body)
    expect(JSON.stringify(result?.content).replaceAll('\\n', '\n').length).toBeLessThanOrEqual(1_000)
    expect(shownIn(api.requests[1]?.body)[0]).toMatch(/^a\na\n.*left out.*\na\na$/s)
  })

  it.each<readonly [string, Block]>([
    ['citations', { ...text('a'), citations: [{ type: 'char_location', cited_text: 'x'.repeat(3_000) }] }],
    [
      'a title',
      {
        type: 'document',
        title: 'x'.repeat(3_000),
        source: { type: 'text', media_type: 'text/plain', data: 'a' },
      },
    ],
  ])('is one with %s that are, too', (_, block) => {
    expect(limitResults([toolResult('a', [block])], { bytes: 1_000, rest: 'recorded' })).toBeDefined()
  })

  it.each([1_000, 1_000_000_000])(
    'and too large to be recorded is recorded as it is shown, where %i bytes are allowed',
    async (maxResult) => {
      const { api, chat, turn } = await scene([() => call('read')])
      const content = Array.from({ length: 300 }, () => text('x'.repeat(60_000)))
      const context = { window: 10_000_000 }
      await turn({ run: { read: () => content }, maxResult, context })
      expect(shownIn(api.requests[1]?.body)[0]).toContain('too large to be recorded')
      const edits = (await log(chat)).filter(({ type }) => type === 'Condensed')
      // What the API refuses then is cut down further.
      expect(edits).toHaveLength(maxResult === 1_000 ? 0 : 1)
    },
  )
})

describe('results that are in the log already', () => {
  const huge = 'word '.repeat(20_000)
  const calls = (...ids: readonly string[]) => ({
    role: 'assistant' as const,
    content: ids.map((id) => toolUse(id)),
  })
  const context = { window: 4_000, reserved: 500 }
  const small = { models: { [model]: { contextWindow: 4_000 } } }
  const parameters = { max_tokens: 500 }

  it('and alone fill the window are cut down, and the turn continues', async () => {
    const { api, chat, turn } = await scene([], small)
    await chat.append([calls('a'), { role: 'user', content: [toolResult('a', huge)] }])
    expect(await turn({ context, parameters, run: {} })).toMatchObject({ calls: 1 })
    expect(shownIn(api.requests.at(-1)?.body)[0]).toMatch(/^word .*Characters .* are left out.* word $/s)
    expect((await chat.effective()).find(({ kind }) => kind === 'summary')).toMatchObject({
      covers: { first: 2, last: 2 },
      method: 'client',
      policy: { of: 'context' },
    })
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
  })

  it('and only together fill it are cut down side by side', async () => {
    const { api, chat, turn } = await scene([], small)
    const ids = ['a', 'b', 'c', 'd', 'e']
    const content = ids.map((id) => toolResult(id, 'word '.repeat(1_500)))
    await chat.append([calls(...ids), { role: 'user', content }])
    await turn({ context, parameters, maxResult: 10_000, run: {} })
    expect(shownIn(api.requests.at(-1)?.body).every((shown) => shown.includes('left out'))).toBe(true)
  })

  it('and only the API finds too large are cut down when nothing else is left', async () => {
    const { api, chat, turn } = await scene([], small)
    await chat.append([calls('a'), { role: 'user', content: [toolResult('a', huge)] }])
    await turn({ parameters, run: {} })
    expect(api.requests.map(({ status }) => status)).toEqual([400, 200])
  })
})

describe('the reader', () => {
  it('reads a block by its number, and says what is not there', async () => {
    const { chat } = await scene([])
    const { run } = resultReader(chat)
    const read = async (input: object) => run.run(input, toolContext('read_result', 500))
    await chat.append([
      { role: 'assistant', content: [toolUse('a')] },
      { role: 'user', content: [toolResult('a', [text('one'), text('two')])] },
    ])
    expect(await read({ call_id: 'a' })).toBe('[Characters 0 to 7 of 7]\none\ntwo')
    expect(await read({ call_id: 'a', block: 1, from: 1, length: 1 })).toBe(
      '[Characters 1 to 2 of 3, the next part from 2]\nw',
    )
    const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
    const pdf = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } }
    const content = [audio, text('x'.repeat(20_000)), pdf]
    const message = { role: 'user' as const, content: [toolResult('c', content)] }
    await chat.append(message)
    const [cut] = limitResults(message.content, { bytes: 1_000, rest: 'readable' }) ?? []
    const [, place = ''] = /document \(block (\d)\)/.exec(JSON.stringify(cut)) ?? []
    await expect(read({ call_id: 'c', block: Number(place) })).rejects.toThrow('the document is too large')
    await expect(read({ call_id: 'b' })).rejects.toThrow('no result of a call "b"')
    for (const input of [{}, { from: 0 }, { call_id: null }, { call_id: '' }, { call_id: 5 }])
      await expect(read(input)).rejects.toThrow(/^call_id is missing: /)
  })

  it('finds a result however long ago it was', async () => {
    const { chat } = await scene([])
    await chat.append({ role: 'user', content: [toolResult('a', 'old')] })
    await chat.append(Array.from({ length: 2_000 }, () => ({ role: 'user' as const, content: 'x' })))
    const { run } = resultReader(chat)
    expect(await run.run({ call_id: 'a' }, toolContext('read_result', 500))).toContain('old')
  })
})

describe('a result that is no larger than the note about it', () => {
  it('stays whole, whatever the limit is', () => {
    expect(limitResults([toolResult('a', 'x'.repeat(150))], { bytes: 1, rest: 'recorded' })).toBeUndefined()
  })
})

describe('any result', () => {
  const content = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 900 }),
    fc.string({ unit: fc.constantFrom('a', 'ü', '\u{1f600}', '\ud83d', '\ude00', '\n'), maxLength: 900 }),
    fc.array(
      fc.oneof(
        fc.string({ maxLength: 300 }).map(text),
        fc.string({ maxLength: 3 }).map(text),
        fc.constantFrom<AnyBlock>({ type: 'image', source: { type: 'url', url: 'x' } }, { type: 'audio' }),
      ),
      { maxLength: 30 },
    ),
  )

  it('is shown with no more than the limit: its beginning, its end, and what is missing', () => {
    fc.assert(
      fc.property(content, fc.integer({ min: 300, max: 1_000 }), (given, bytes) => {
        const block = toolResult('a', given)
        const [shown] = limitResults([block], { bytes, rest: 'readable' }) ?? [block]
        if (!shown || !isBlock(shown, 'tool_result') || !isBlock(block, 'tool_result'))
          throw new Error('no result')
        expect(resultBytes(shown)).toBeLessThanOrEqual(bytes)
        expect(limitResults([shown], { bytes, rest: 'readable' })).toBeUndefined()
        if (shown === block || typeof given !== 'string' || typeof shown.content !== 'string') return
        const [, from, to] = /\[Characters (\d+) to (\d+) of \d+ are left out/.exec(shown.content) ?? []
        expect(shown.content.startsWith(given.slice(0, Number(from)))).toBe(true)
        expect(shown.content.endsWith(given.slice(Number(to)))).toBe(true)
      }),
      { numRuns: runs(500) },
    )
  })
})

it('a block of a tool that the API would refuse does not stop the conversation', async () => {
  const { api, turn } = await scene([() => call('read')])
  const read = () => [
    { type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: pictures.jpeg } },
    { type: 'tool_reference', tool_name: 'gone' },
  ]
  expect(await turn({ run: { read } })).toMatchObject({ stopReason: 'end_turn' })
  expect(resultsIn(api.requests[1]?.body)).toMatchObject([
    {
      content: [
        { source: { media_type: 'image/jpeg' } },
        { type: 'text', text: '[tool_reference, gone: there is no such tool]' },
      ],
    },
  ])
})
