import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { regionsOf } from '../../../src/agent/context/policy/regions.ts'
import {
  requestOfSummary,
  type SummaryOptions,
  type SummaryRequest,
  currentSummarizer,
} from '../../../src/agent/receipts/summary-request.ts'
import type { Block } from '../../../src/events/blocks.ts'
import type { Event } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { histories } from '../../support/histories.ts'
import {
  assistant,
  compacted,
  condensed,
  configured,
  logOf,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../../support/log.ts'
import { violations } from '../../support/predicates.ts'
import { runs } from '../../support/runs.ts'
import { imageOf, png } from '../../support/pictures.ts'

const requested = (events: readonly Event[], options: Partial<SummaryOptions> = {}): SummaryRequest => {
  const now = effective(logOf(...events))
  const [first, last] = [now.items[0]?.position ?? 0, now.items.at(-1)?.position ?? 0]
  return requestOfSummary(now, {
    summarizer: currentSummarizer,
    covers: { first, last },
    images: true,
    ...options,
  })
}
/** The messages without the instructions. */
const shown = (...given: Parameters<typeof requested>): readonly (readonly [string, ...Block[]])[] => {
  const { messages } = requested(...given)
  return messages.flatMap(({ role, content }, index) => {
    const blocks = index === messages.length - 1 ? content.slice(0, -1) : content
    return blocks.length > 0 ? [[role, ...blocks] as const] : []
  })
}
const image = imageOf(png())

describe('a request for a summary', () => {
  const round = [user('Do it.'), assistant([toolUse('a')]), user([toolResult('a')])]

  it('holds what the slice shows, then the instructions as the text of the last user message', () => {
    const { messages, system } = requested([user('Hello.'), assistant('Yes?')], {
      instructions: 'In a word.',
    })
    expect(messages).toEqual([
      { role: 'user', content: [text('Hello.')] },
      { role: 'assistant', content: [text('Yes?')] },
      { role: 'user', content: [text('In a word.')] },
    ])
    expect(system).toContain('summarize')
  })

  it('leaves out blocks of a tool result that lack fields', () => {
    const broken = [{ type: 'text' }, { type: 'image' }, null, text('whole')]
    const events = [user('Do it.'), assistant([toolUse('a')]), user([toolResult('a', broken)])]
    expect(shown(events).at(-1)).toEqual(['user', toolResult('a', [text('whole')])])
  })

  it('has default instructions, joined to a message of the user', () => {
    const { messages } = requested([user('Hello.'), assistant('Yes?'), user('Well.')])
    expect(messages).toHaveLength(3)
    expect(messages[2]?.content).toEqual([text('Well.'), text(expect.stringContaining('Summarize') as never)])
  })

  it('holds the slice only', () => {
    const events = [user('One.'), assistant('Two.'), user('Three.'), assistant('Four.')]
    expect(shown(events, { covers: { first: 1, last: 2 } })).toMatchObject([
      ['user', {}],
      ['assistant', text('Two.')],
      ['user', text('Three.')],
    ])
  })

  it('has tools only if the slice has calls: those configured, or a placeholder', () => {
    const tools = [{ name: 'run', input_schema: { type: 'object' } }]
    expect(requested([configured({ tools, system: 'Be brief.' }), ...round]).tools).toEqual(tools)
    expect(requested([configured({ tools }), user('Hello.')]).tools).toBeUndefined()
    expect(requested(round).tools).toMatchObject([{ input_schema: { type: 'object' } }])
  })

  it('answers calls that have no result', () => {
    expect(shown(round.slice(0, 2))).toMatchObject([
      ['user', text('Do it.')],
      ['assistant', toolUse('a')],
      ['user', { type: 'tool_result', tool_use_id: 'a', is_error: true }],
    ])
  })

  it('says nothing of a truncation, and nothing that it hides', () => {
    const events = [user('One.'), assistant('Two.'), user('Three.'), truncated(0, 1)]
    expect(shown(events)).toEqual([['user', text('Three.')]])
  })

  it('holds an earlier summary as it is, and what the provider compacted as text', () => {
    expect(shown([user('One.'), assistant('Two.'), condensed(0, 1, 'So far.'), user('Three.')])).toEqual([
      ['user', text('So far.'), text('Three.')],
    ])
    const compaction = [
      { role: 'assistant' as const, content: [{ type: 'compaction' as const, content: 'So far.' }] },
    ]
    expect(shown([user('One.'), user('Two.'), compacted(1, 1, compaction), user('Three.')])).toEqual([
      ['user', text('One.')],
      ['assistant', text('So far.')],
      ['user', text('Three.')],
    ])
  })

  it('leaves thinking out', () => {
    expect(shown([user('One.'), assistant([thinking('s'), text('Two.')])])).toEqual([
      ['user', text('One.')],
      ['assistant', text('Two.')],
    ])
  })

  it('shows pictures and documents, or says what they were', () => {
    const pdf: Block = {
      type: 'document',
      title: 'Plan',
      source: { type: 'url', url: 'https://example.com/a.pdf' },
    }
    const events = [
      user([image, pdf]),
      assistant([toolUse('a')]),
      user([toolResult('a', [image, text('ok')])]),
    ]
    expect(shown(events)[0]).toEqual(['user', image, pdf])
    const size = png().toString('base64').length
    const noted = text(`[Not shown: image, image/png, ${size} characters of base64]`)
    expect(shown(events, { images: false })).toEqual([
      ['user', noted, text('[Not shown: document, Plan, https://example.com/a.pdf]')],
      ['assistant', toolUse('a')],
      ['user', toolResult('a', [noted, text('ok')])],
    ])
  })

  it('holds the last summary of a part in place of the items through its end', () => {
    const events = [user('One.'), assistant('Two.'), user('Three.'), assistant('Four.')]
    const parts = [
      { last: 0, text: 'Only one.' },
      { last: 1, text: 'One and two.' },
    ]
    expect(shown(events, { parts })).toEqual([
      ['user', text('Summary of what was said before:\n\nOne and two.'), text('Three.')],
      ['assistant', text('Four.')],
    ])
  })

  it('cuts long texts in the middle: messages, inputs, results, documents', () => {
    const long = `begin${'x'.repeat(1_000)}end`
    const document: Block = {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: long },
    }
    const events = [
      user([text(long), document]),
      assistant([toolUse('a', { deep: [long], number: 1 }), toolUse('b')]),
      user([toolResult('a', long), toolResult('b', [text(long), text('short')])]),
    ]
    const cut = 'begin\n[… 998 characters are left out here …]\nxxend'
    expect(shown(events, { longest: 10 })).toEqual([
      [
        'user',
        text(cut),
        {
          ...document,
          source: { ...(document['source'] as Block), media_type: expect.any(String), data: cut },
        },
      ],
      ['assistant', toolUse('a', { deep: [cut], number: 1 }), toolUse('b')],
      ['user', toolResult('a', cut), toolResult('b', [text(cut), text('short')])],
    ])
  })

  it('of each version is the same for ever: receipts are checked with it', () => {
    const tools = [{ name: 'run', input_schema: { type: 'object' } }]
    const events = [
      configured({ tools }),
      user([text('Fix it.'), imageOf('AAAA')]),
      assistant([thinking('s'), toolUse('bad id'), toolUse('b', { long: 'y'.repeat(300) })]),
      user([toolResult('bad id'), text('And quickly.')]),
      assistant([{ type: 'compaction', content: 'Compacted.' }, text('Done.')]),
      truncated(3, 3),
      { type: 'MessageAppended', data: { role: 'system', content: [text('Be brief.')] } } as const,
      assistant('Well.'),
    ]
    const whole = { covers: { first: 1, last: 7 } }
    const digests = [
      whole,
      { ...whole, images: false, longest: 100 },
      { ...whole, parts: [{ last: 2, text: 'P.' }] },
    ].flatMap((options) =>
      ([1, 2] as const).map((summarizer) => digestOf(requested(events, { ...options, summarizer }))),
    )
    const same = (digest: string) => [digest, digest]
    expect(digests, 'add a version, and keep these').toEqual([
      // Its image cannot be read, and version 2 says so.
      'b2e0a57b63eb9354faed21db36b9476cb34d9e0519b08b10be5152040f00b0af',
      'e8b1e4db6159f11128d898e5d2c8318a4c6364e7ee0118657d977964e4f0cb50',
      ...same('92dcbd5243dd5fa2edbf8dc17e2760ad6019b67ade1491fb222b683826aea5e2'),
      ...same('1628a438b3872b1175464c20476c35671bb925dbf7268ef77ca0f2faef10144d'),
    ])
  })
})

describe('a request for a summary of any slice', () => {
  it('is valid, and the same each time', () => {
    let asked = 0
    fc.assert(
      fc.property(
        histories(),
        fc.tuple(fc.nat(1_000), fc.nat(1_000), fc.boolean()),
        fc.constantFrom<Partial<SummaryOptions>>(
          {},
          { images: false },
          { longest: 4 },
          { instructions: 'Now.' },
        ),
        (log, [from, length, isPlanned], more) => {
          const now = effective(log)
          const { items } = now
          const [region] = regionsOf(now, { keepFirst: 1, keepLast: 3 })
          const start = isPlanned ? region?.from : from % Math.max(1, items.length)
          if (start === undefined || items.length === 0) return
          const end = isPlanned && region ? region.to : start + 1 + (length % (items.length - start))
          const covers = { first: items[start]?.position ?? 0, last: items[end - 1]?.position ?? 0 }
          const parts =
            length % 3 === 0 ? [{ last: items[start]?.position ?? 0, text: 'So far.' }] : undefined
          const options: SummaryOptions = {
            summarizer: currentSummarizer,
            covers,
            images: true,
            ...(parts && { parts }),
            ...more,
          }
          const request = requestOfSummary(now, options)
          expect(violations({ rendered: { ...request, repairs: [], awaits: 'model' } })).toEqual([])
          expect(requestOfSummary(now, options)).toEqual(request)
          const blocks = request.messages.flatMap(({ content }) => content)
          expect(blocks.filter(({ type }) => /thinking|compaction/.test(type))).toEqual([])
          expect(blocks.some(({ type }) => type.endsWith('tool_use'))).toBe(request.tools !== undefined)
          asked++
        },
      ),
      { numRuns: runs(500) },
    )
    expect(asked).toBeGreaterThan(runs(100))
  })
})
