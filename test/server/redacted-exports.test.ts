import { describe, expect, test } from 'vitest'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { dataSchemas, metadataSchema } from '../../src/events/events.ts'
import { ownFormats } from '../../src/transfer/formats/registry.ts'
import { type ConversationEvent, registerFormat } from '../../src/index.ts'
import { atEnd } from '../support/at-end.ts'
import { gathered } from '../support/exported.ts'
import { serving } from '../support/server/asking.ts'
import { wrongWithVcon } from '../support/vcon-schema.ts'

// What times, ids, hashes, types and names of fields are made of, each character by itself.
const redact = Array.from({ length: 95 }, (_, n) => String.fromCodePoint(32 + n))
const [sample] = sampleIds

const scene = async () => {
  const { fetch, store } = await serving()
  await loadSample(store)
  const source = { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } as const
  const chat = store.conversation(sample)
  await chat.append({ role: 'user', content: [{ type: 'image', source }] })
  const written = async (json: object): Promise<string> =>
    (await fetch(`conversations/${sample}/exports`, { json })).text()
  return {
    /** As it is, and redacted. */
    both: (format: string) => Promise.all([written({ format }), written({ format, redact })]),
    page: (pattern?: RegExp) => gathered(store, sample, { calls: true, redact: pattern }),
  }
}

const structural = new Set(
  'type role kind id tool_use_id time timestamp start created_at prev hash digest state updated'.split(' '),
)
const own = new Set(['input', 'input_schema', 'parameters', 'uuid'])
/** Which fields there are, and what those say that are no content. */
const frameOf = (value: unknown, name = ''): unknown => {
  if (own.has(name)) return name
  if (Array.isArray(value)) return value.map((inner) => frameOf(inner, typeof inner === 'string' ? name : ''))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) =>
      key === 'salt' ? [] : [[key, frameOf(inner, key)]],
    )
  // The name of a model is configured: it is content.
  if (typeof value === 'string' && value.startsWith('palimpsest:model:')) return 'palimpsest:model'
  return structural.has(name) || /^@|^was|^used|At(Time)?$|^(call|parent|session)-id$/.test(name)
    ? value
    : typeof value
}
const expectValid = (events: readonly ConversationEvent[]): void => {
  for (const { type, data, metadata } of events) {
    expect(dataSchemas[type].safeParse(data).error).toBeUndefined()
    expect(metadataSchema.safeParse(metadata).error).toBeUndefined()
  }
}

describe('whatever is redacted, times, ids, hashes and names of fields stay', () => {
  test('in a vCon, which its schema accepts', async () => {
    const { both } = await scene()
    const [whole, redacted] = (await both('vcon')).map((text) => {
      const document = JSON.parse(text) as {
        readonly analysis: readonly [{ readonly body: { session: object } }]
      }
      // The id of the record is the UUID of the whole, which differs.
      return {
        document,
        frame: frameOf({
          ...document,
          analysis: document.analysis.map(({ body, ...rest }) => ({ ...rest, session: body.session })),
        }),
      }
    })
    expect(redacted && wrongWithVcon(redacted.document)).toEqual([])
    expect(redacted?.frame).toEqual(whole?.frame)
    expect(JSON.stringify(whole).includes('An invoice lists')).toBe(true)
    expect(JSON.stringify(redacted).includes('An invoice lists')).toBe(false)
  })

  test.for(['prov', 'anthropic', 'events'])('in %s', async (format) => {
    atEnd(() => void ownFormats().delete('events'))
    registerFormat({
      name: 'events',
      recognises: () => false,
      parse: () => [],
      write: (log) => [JSON.stringify(log)],
    })
    const { both } = await scene()
    const [whole, redacted] = (await both(format)).map((text) => JSON.parse(text) as unknown)
    expect(frameOf(redacted)).toEqual(frameOf(whole))
    if (format === 'events') expectValid(redacted as readonly ConversationEvent[])
  })

  test('in Markdown', async () => {
    const { both } = await scene()
    const [whole, redacted] = (await both('markdown')).map((text) =>
      text.match(/^(## \d+ · .*|\*No longer .*)$/gm),
    )
    expect(redacted).toEqual(whole)
    expect(whole?.length).toBeGreaterThan(20)
  })

  test('in a page, whose events are still valid', async () => {
    const { page } = await scene()
    const { events, answers } = await page(/./s)
    expectValid(events)
    const whole = await page()
    // With its salt, the hash of an event would confirm a guess of what was redacted.
    expect(whole.events.some(({ metadata }) => metadata.salt !== undefined)).toBe(true)
    expect(JSON.stringify(events)).not.toContain('"salt"')
    expect(frameOf(events)).toEqual(frameOf(whole.events))
    expect(frameOf(answers)).toEqual(frameOf(whole.answers))
  })
})
