import { type BlockSource } from '../../../src/events/blocks.ts'
import { describe, expect, it } from 'vitest'
import { countTokens } from '../../../src/agent/context/tokens/tokens.ts'
import { estimate } from '../../../src/agent/context/tokens/estimate.ts'
import { historyTokens } from '../../../src/agent/context/tokens/history.ts'
import type { Block } from '../../../src/events/blocks.ts'
import type { Event, Origin } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { type Log, path } from '../../../src/projections/path.ts'
import { importFile, logsOf } from '../../support/import-log.ts'
import { present, sessionFile } from '../../support/sessions.ts'
import { png } from '../../support/pictures.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  restored,
  rewound,
  text,
  thinking,
  toolResult,
  truncated,
  user,
} from '../../support/log.ts'

/** Text that is estimated as so many tokens. */
const words = (tokens: number): string => 'x'.repeat(Math.floor(tokens * 3.3))

const usage = (input: number, output: number): Origin => ({
  model: 'm-1',
  stopReason: 'end_turn',
  usage: {
    input_tokens: 1,
    cache_read_input_tokens: input - 3,
    cache_creation_input_tokens: 2,
    output_tokens: output,
  },
})
const reply = (input: number, output: number, content: string | readonly Block[] = 'yes'): Event =>
  assistant(content, usage(input, output))

const count = (...events: readonly Event[]): ReturnType<typeof countTokens> =>
  countTokens(effective(logOf(...events)))
const tokensOf = (...events: readonly Event[]): readonly number[] =>
  count(...events).items.map(({ tokens }) => tokens)

describe('what the API counted', () => {
  it('is the anchor: input, what the cache gave and took, and output', () => {
    const { total, anchor } = count(user(words(100)), reply(5_000, 40))
    expect({ total, anchor }).toEqual({ total: 5_040, anchor: 1 })
  })

  it('has what came later added, as estimated', () => {
    expect(count(user('go'), reply(5_000, 40), user(words(100))).total).toBe(5_140)
  })

  it('tells system prompt and tools from the messages before the first reply', () => {
    expect(count(user(words(100)), reply(5_000, 40)).prompt).toBe(4_900)
  })

  it('tells what is between two replies of the same beginning', () => {
    const history = [user('go'), reply(5_000, 40), user(words(100)), reply(5_200, 10)]
    expect(tokensOf(...history).slice(1)).toEqual([40, 160, 10])
    expect(count(...history).total).toBe(5_210)
  })

  it('is that of the last message iteration after a server compaction, if usage is broken down', () => {
    const iteration = (type: string, input: number, output: number) => ({
      type,
      input_tokens: input,
      output_tokens: output,
    })
    const iterations = [
      iteration('message', 90_000, 5),
      iteration('compaction', 700, 300),
      iteration('message', 2_000, 30),
      iteration('message', 2_500, 60),
    ]
    const origin = { usage: { input_tokens: 94_500, output_tokens: 95, iterations } }
    const { total, items } = count(user('go'), assistant('yes', origin))
    expect({ total, reply: items[1]?.tokens }).toEqual({ total: 2_560, reply: 560 })
  })

  it('is the output of all parts of a reply that is stored in parts', () => {
    const origin = { ...usage(5_000, 300), requestId: 'r' }
    const { requestId } = origin
    expect(count(user('go'), assistant('one', origin), assistant(words(90), { requestId })).total).toBe(5_300)
    expect(count(user('go'), assistant('one', origin), assistant(words(90), origin)).total).toBe(5_300)
  })

  it('is at least the estimate where the stream had only begun', () => {
    const begun = (output: number): Origin => ({ ...usage(5_000, output), stopReason: null })
    expect(count(user('go'), assistant(words(100), begun(1))).total).toBe(5_100)
    expect(count(user('go'), assistant(words(100), begun(400))).total).toBe(5_400)
  })

  it('is no anchor if it says nothing: a request that failed', () => {
    expect(
      count(user('go'), reply(5_000, 40), user('on'), assistant([], { usage: { input_tokens: 0 } })),
    ).toMatchObject({ anchor: 1, total: 5_041 })
  })
})

describe('an anchor counts while its beginning is shown as it was', () => {
  const start = [user(words(100)), reply(5_000, 40), user(words(200)), reply(5_240, 50)]

  it('not after a condense or truncate before it, nor after a restore', () => {
    expect(count(...start, truncated(1, 2)).anchor).toBeUndefined()
    expect(count(...start, condensed(1, 2)).anchor).toBeUndefined()
    expect(count(...start, condensed(1, 1), reply(5_400, 9), restored(4)).anchor).toBe(3)
    const between = [user('a'), user('b'), condensed(1, 1), reply(900, 5), user('c')]
    expect(count(...between, restored(2)).anchor).toBeUndefined()
    expect(count(...between).anchor).toBe(3)
  })

  it('what was said between two replies is no longer what the API counted once it is hidden', () => {
    expect(tokensOf(...start, reply(5_300, 1), truncated(2, 2))).toEqual([100, 40, 10, 50, 1])
  })

  it('still after a condense that comes after it', () => {
    expect(count(...start, user(words(500)), condensed(4, 4, words(50)))).toMatchObject({
      anchor: 3,
      total: 5_340,
    })
  })

  it('again after a rewind to before the condense', () => {
    expect(count(...start, condensed(1, 2), rewound(3))).toMatchObject({ anchor: 3, total: 5_290 })
  })

  it('not after another system prompt, tools or model; other parameters change nothing', () => {
    const first = configured({ model: 'm-1' })
    const behind = (data: Parameters<typeof configured>[0]) => count(first, ...start, configured(data)).anchor
    expect(behind({ model: 'm-1', parameters: { temperature: 1 } })).toBe(4)
    expect(behind({ model: 'm-2' })).toBeUndefined()
    expect(behind({ model: 'm-1', system: 'Be brief.' })).toBeUndefined()
  })
})

describe('without an anchor', () => {
  const start = [user(words(100)), reply(5_000, 40), user(words(200)), reply(5_240, 50), user(words(30))]

  it('what remains is what it was counted as', () => {
    expect(tokensOf(...start, truncated(0, 0)).slice(1)).toEqual([40, 200, 50, 30])
  })

  it('the prompt is what an earlier request had besides the messages, those hidden since included', () => {
    // The marker says that ten tokens were hidden.
    expect(count(...start, truncated(0, 0)).prompt).toBe(5_240 - 10 - 40 - 200)
    expect(
      count(user(words(300)), user(words(100)), condensed(0, 0), reply(900, 1), restored(2)).prompt,
    ).toBe(500)
  })

  it('the prompt is an estimate of the configuration, where that says what it is', () => {
    const system = words(700)
    expect(count(configured({ system }), user('go')).prompt).toBe(700)
    expect(
      count(configured({ system: [text(system)], tools: [{ name: 'run' }] }), user('go')).prompt,
    ).toBeGreaterThan(710)
  })

  it('the prompt comes from what the summary says of the context before it', () => {
    const summary = condensed(0, 1)
    const data = { ...summary.data, origin: { usage: { tokens_before: 6_000 } } }
    expect(count(user('a'), user('b'), { ...summary, data }).prompt).toBe(5_990)
    expect(count(user('a'), user('b'), summary).prompt).toBe(0)
  })

  it('thinking that cannot be sent any more is not counted', () => {
    const thought = [thinking('s', words(400)), text(words(10))]
    const history = [user('a'), user('b'), reply(5_000, 900, thought)]
    expect(tokensOf(...history)).toEqual([1, 1, 900])
    expect(tokensOf(...history, truncated(1, 1)).at(-1)).toBe(10)
  })

  it('a truncation counts as its note', () => {
    expect(tokensOf(user('a'), user('b'), truncated(0, 0))[0]).toBe(10)
  })

  it('what the API compacted away itself is nothing', () => {
    const compacted = condensed(1, 1, [
      { role: 'assistant', content: [{ type: 'compaction', content: words(50) }] },
    ])
    expect(tokensOf(user(words(500)), user('b'), compacted)[0]).toBe(0)
  })
})

describe('estimates are corrected', () => {
  const rounds = (factor: number, model?: string): readonly Event[] =>
    Array.from({ length: 20 }, (_, n) => [
      assistant('', { ...usage(5_000 + n * 1_000 * factor, 0), ...(model !== undefined && { model }) }),
      user(words(1_000)),
    ]).flat()
  const next = (...events: readonly Event[]): number =>
    tokensOf(user('go'), ...events, user(words(1_000))).at(-1) ?? 0

  it('by what this model’s requests were, the more the more were counted', () => {
    expect(next(...rounds(1.4))).toBeGreaterThan(1_350)
    expect(next(...rounds(1.4))).toBeLessThan(1_400)
    expect(next(...rounds(1.4).slice(0, 4))).toBeLessThan(1_150)
    expect(next(...rounds(0.6))).toBeLessThan(650)
  })

  it('never by less than a half or more than twice', () => {
    expect(next(...rounds(9))).toBe(2_000)
    expect(next(...rounds(0.01))).toBe(500)
  })

  it('not by what another model’s were; a dated name is the same model', () => {
    expect(next(...rounds(1.4, 'other'), configured({ model: 'm' }))).toBe(1_000)
    expect(next(...rounds(1.4, 'm-20260101'), configured({ model: 'm' }))).toBeGreaterThan(1_350)
  })
})

const gif = (width: number, height: number): Buffer => {
  const file = Buffer.alloc(64)
  file.write('GIF89a', 'latin1')
  file.writeUInt16LE(width, 6)
  file.writeUInt16LE(height, 8)
  return file
}
const jpeg = (width: number, height: number): Buffer => {
  const file = Buffer.concat([Buffer.from('ffd8ffe100040000ffdb00040000ffc0001108', 'hex'), Buffer.alloc(40)])
  file.writeUInt16BE(height, 19)
  file.writeUInt16BE(width, 21)
  return file
}
const webp = (kind: string, body: string): Buffer =>
  Buffer.concat([
    Buffer.from(`RIFF    WEBP${kind}    `, 'latin1'),
    Buffer.from(body, 'hex'),
    Buffer.alloc(20),
  ])

const base64 = (file: Buffer) => ({ type: 'base64', data: file.toString('base64') })
const image = (file: Buffer): Block => ({ type: 'image', source: base64(file) })
const document = (source: BlockSource): Block => ({ type: 'document', source })

describe('pictures and documents', () => {
  it.each<readonly [string, Buffer, number]>([
    ['a picture is a token for each begun square of 28 pixels', png(1_000, 1_000), 36 * 36],
    ['a GIF too', gif(200, 29), 8 * 2],
    ['a JPEG too, behind its other segments', jpeg(56, 280), 20],
    ['a lossy WebP too', webp('VP8 ', '0000009d012a38001c00'), 2],
    ['a lossless WebP too', webp('VP8L', '2f37c00600'), 2],
    ['an extended WebP too', webp('VP8X', '000000003700001b0000'), 2],
    ['a large one is scaled down to 2,576 pixels', png(5_152, 280), 92 * 5],
    ['the largest is 4,784 tokens', png(9_000, 9_000), 4_784],
    ['one that does not say its size is a large one', Buffer.from('no picture'), 1_600],
    ['one that ends too early is a large one', Buffer.from('ffd8ffe1ffff'.padEnd(80, '0'), 'hex'), 1_600],
    ['one of no size is a large one', png(0, 10), 1_600],
  ])('%s', (_, file, tokens) => {
    expect(estimate([image(file)])).toBe(tokens)
  })

  it('one that is elsewhere is a large one', () => {
    expect(estimate([{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }])).toBe(
      1_600,
    )
  })

  it('one in a tool result counts as well', () => {
    expect(estimate([toolResult('a', [image(png(28, 28)), text(words(10))])])).toBe(24)
  })

  it.each<readonly [string, BlockSource, number]>([
    [
      'a PDF is 3,000 tokens a page',
      base64(Buffer.from('/Type /Pages /Type /Page\n/Type/Page /Type /Page>>')),
      9_000,
    ],
    ['one that hides its pages has one for 50 kB', base64(Buffer.alloc(120_000)), 9_000],
    ['one that is elsewhere has one', { type: 'url', url: 'https://example.com/a.pdf' }, 3_000],
    ['a text is a text', { type: 'text', media_type: 'text/plain', data: words(70) }, 70],
    ['a document of a text is a text', { type: 'content', content: words(70) }, 70],
    [
      'a document of blocks is its blocks',
      { type: 'content', content: [text(words(70)), image(png(28, 28))] },
      71,
    ],
  ])('%s', (_, source, tokens) => {
    expect(estimate([document(source)])).toBe(tokens)
  })
})

describe('the tokens of a whole conversation', () => {
  const history = [
    user(words(100)),
    reply(5_000, 40),
    user(words(300)),
    reply(5_400, 60),
    condensed(1, 2, words(70)),
    user('on'),
  ]

  it('are those of every item, hidden ones as they were counted when they were shown', () => {
    const { items, total } = historyTokens(logOf(...history))
    expect(items.slice(1, 5)).toEqual([
      { position: 1, kind: 'message', status: 'condensed', tokens: 40 },
      { position: 2, kind: 'message', status: 'condensed', tokens: 360 },
      { position: 3, kind: 'message', status: 'active', tokens: 60 },
      { position: 4, kind: 'summary', status: 'active', tokens: 70 },
    ])
    expect(total).toBe(count(...history).total)
  })

  it('say what each condense saved', () => {
    const [saving] = historyTokens(logOf(...history)).condensed
    expect(saving).toMatchObject({ marker: 4, before: 400 })
    expect(saving?.saved).toBe(400 - (saving?.after ?? 0))
    expect(historyTokens(logOf(...history, restored(4))).condensed).toEqual([])
    expect(historyTokens(logOf(...history, truncated(4, 4))).condensed).toHaveLength(1)
  })

  it('of an empty log are 0', () => {
    expect(historyTokens([])).toEqual({
      total: 0,
      estimated: 0,
      prompt: 0,
      correction: 1,
      items: [],
      condensed: [],
    })
  })
})

/** Input tokens of a reply as recorded, counted by hand: no function of the package reads them here. */
const recorded = (event: Log[number] | undefined): number => {
  const found = event?.type === 'MessageAppended' ? event.data.origin?.usage : undefined
  const fields = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
  return fields.reduce((sum, field) => sum + Number(found?.[field] ?? 0), 0)
}

/** How far each request after the first is from what was predicted from the log before it, as a share of what it was. */
const errorsIn = (log: Log): readonly number[] =>
  path(log)
    .filter((position) => recorded(log[position]) > 0)
    .slice(1)
    .map((position) => {
      const actual = recorded(log[position])
      return Math.abs(countTokens(effective(log, position - 1)).total - actual) / actual
    })

describe('requests of recorded sessions are predicted', () => {
  it.each(
    present([
      ['sample', 'pi/before-compaction.jsonl', 10],
      ['sample', 'claude-code/session-with-compaction.jsonl', 9],
      ['sample', 'claude-code/session-with-compaction.subagents/agent-a51c09e.jsonl', 3],
      ['sample', 'claude-code/tool-heavy.jsonl', 4],
      ['real', 'pi/before-compaction.jsonl', 470],
      ['real', 'claude-code/session-with-compaction.jsonl', 142],
      ['real', 'claude-code/session-with-compaction.subagents/agent-a7be2f0.jsonl', 12],
      ['real', 'claude-code/tool-heavy.jsonl', 3],
    ] as const),
  )('%s %s: the mean error of its requests is at most a twentieth', (origin, file, requests) => {
    const archive = importFile(sessionFile(origin, file))
    const errors = [...logsOf(archive).values()].flatMap(errorsIn)
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    expect(errors).toHaveLength(requests)
    expect(mean).toBeLessThanOrEqual(0.05)
    expect(errors.toSorted((a, b) => a - b)[Math.floor(errors.length * 0.95)]).toBeLessThanOrEqual(0.05)
  })
})
