import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histories } from '../histories.ts'
import { casesOf } from '../history-predicates.ts'
import { text } from '../log.ts'
import { moments } from '../model.ts'
import { runs } from '../runs.ts'
import { hello, opus, params, refusal, says, start, yes } from './client.ts'
import { broken, call, fine, found, noPrefill, search, unanswered } from './requests.ts'

describe('a request is refused that', () => {
  it.each(broken)('%i: %s', async (_, __, messages, message, more) => {
    const { client } = await start()
    expect(await refusal(client.messages.create(params(messages, more)))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      apiMessage: message,
    })
  })

  it('breaks any one of the predicates 1 to 14 (11 and 12, of thinking: thinking.test.ts)', () => {
    const numbers = new Set(broken.map(([number]) => number))
    const missing = Array.from({ length: 14 }, (_, index) => index + 1).filter(
      (number) => !numbers.has(number),
    )
    expect(missing).toEqual([11, 12])
  })

  it('1: has more than 100,000 messages', async () => {
    const { client } = await start()
    const messages = Array.from({ length: 100_001 }, (_, index) => (index % 2 === 0 ? hello : yes))
    expect((await refusal(client.messages.create(params(messages)))).apiMessage).toContain('at most 100000')
  })

  it('breaks a rule of messages, where it only counts tokens', async () => {
    const { client } = await start()
    const { max_tokens: _, ...counted } = params([hello, call])
    expect((await refusal(client.messages.countTokens(counted))).apiMessage).toBe(`messages.1: ${unanswered}`)
  })
})

describe('a request is accepted', () => {
  it.each(fine)('%s', async (_, messages, more) => {
    const { client } = await start()
    expect(await client.messages.create(params(messages, more))).toMatchObject({ type: 'message' })
  })

  it('that ends in a turn which the model paused, trimmed or not, and in no other', async () => {
    const pause = { content: [search, found, text('Wait. ')], stop_reason: 'pause_turn' } as const
    const { client } = await start({ reply: () => pause })
    const { content } = await client.messages.create(params([hello]))
    await client.messages.create(params([hello, { role: 'assistant', content }]))
    await client.messages.create(params([hello, says(search, found, text('Wait.'))]))
    const other = says(search, found, text('Wait!'))
    expect((await refusal(client.messages.create(params([hello, other])))).apiMessage).toBe(noPrefill)
  })

  it('that ends in a paused turn with a server tool use that waits, whole', async () => {
    const pause = { content: [text('I look.'), search], stop_reason: 'pause_turn' } as const
    const { client } = await start({ reply: () => pause })
    const { content } = await client.messages.create(params([hello]))
    await client.messages.create(params([hello, { role: 'assistant', content }]))
    expect((await refusal(client.messages.create(params([hello, says(search)])))).apiMessage).toContain(
      '`web_search` tool use with id `s` was found without',
    )
    expect((await refusal(client.messages.create(params([hello, says(text('I look.'))])))).apiMessage).toBe(
      noPrefill,
    )
  })

  it('that render makes of any history', async () => {
    // A prefill, and a turn that another server paused, are for a model that takes a prefill.
    const models = { open: { prefill: true } }
    const { client } = await start({ foreignSignatures: true, foreignPauses: true, models })
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(histories(25), fc.boolean(), fc.boolean(), async (log, systemMessages, prefill) => {
        for (const [at, { rendered }] of casesOf(log, moments(log), { systemMessages, prefill }).entries()) {
          const { system, tools, messages, awaits } = rendered
          if (awaits !== 'model') continue
          const model = messages.at(-1)?.role === 'assistant' ? 'open' : opus
          const asked = client.messages.create(params(messages, { system, tools, model }))
          expect(await asked.then(({ type }) => type, String), `at ${at}`).toBe('message')
          accepted++
        }
      }),
      { numRuns: runs(100) },
    )
    expect(accepted).toBeGreaterThan(0)
  })
})
