import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { summarizer } from '../../../src/agent/context/summary/summarizer.ts'
import { openStore } from '../../../src/index.ts'
import { openAiModel } from '../../../src/agent/models/openai/model.ts'
import { effective } from '../../../src/projections/effective.ts'
import type { Manners } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { assistant, logOf, user } from '../../support/log.ts'

const long = 'All of it, word for word. '.repeat(200)

/** A turn that calls a tool for ever, at an endpoint with these manners. */
const scene = async (
  manners: Manners,
  reply: ChatReply = { content: 'I look.', tool_calls: [{ name: 'read' }] },
) => {
  const api = await chatCompletions({ reply: () => reply, models: { local: manners } })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: long })
  const client = openAiModel(new OpenAI({ baseURL: api.url, apiKey: 'any' }))
  const tools = [{ name: 'read', input_schema: { type: 'object' } }]
  const turn = (more: Partial<TurnOptions>) =>
    chat.turn({ client, model: 'local', tools, run: { read: () => 'Nothing.' }, ...more })
  return { api, chat, client, turn }
}
const costly = { input: 1, output: 1, cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 }

describe('a budget at an endpoint that reports no usage', () => {
  it('counts estimates, says so, and counts them again from the log', async () => {
    const { api, chat, turn } = await scene({ countsNothing: true })
    const spent: unknown = await turn({ budget: { tokens: 4_000 } }).catch((thrown: unknown) => thrown)
    expect(spent).toMatchObject({
      _tag: 'BudgetSpent',
      of: 'tokens',
      message: expect.stringMatching(/ 4000 tokens \(with \d+ tokens by our estimate, /) as string,
    })
    const { usage } = spent as {
      readonly usage: { readonly input: number; readonly output: number; readonly estimated: number }
    }
    expect(usage.estimated).toBe(usage.input + usage.output)
    const asked = api.requests.length
    expect(asked).toBeGreaterThan(1)
    await expect(turn({ budget: { tokens: 4_000 } })).rejects.toMatchObject({ usage })
    expect(api.requests.length).toBe(asked)
    // The estimates are no counts of the API.
    expect(await chat.tokens()).not.toHaveProperty('anchor')
  })

  it('also in dollars', async () => {
    const { turn } = await scene({ countsNothing: true })
    const asked = turn({ budget: { usd: 0.004 }, prices: { local: costly } })
    await expect(asked).rejects.toMatchObject({ _tag: 'BudgetSpent', of: 'usd' })
  })

  it('and for counts of nothing, or of the output alone', async () => {
    for (const usage of [
      { prompt_tokens: 0, completion_tokens: 0 },
      { prompt_tokens: 0, completion_tokens: 7 },
    ]) {
      const { turn } = await scene({}, { content: 'Yes.', usage })
      const turned = await turn({})
      expect(turned.usage.input).toBeGreaterThan(1_000)
      expect(turned.usage.estimated).toBe(
        turned.usage.input + (usage.completion_tokens > 0 ? 0 : turned.usage.output),
      )
    }
  })

  it('but none where usage is reported', async () => {
    const { turn } = await scene({}, { content: 'Yes.' })
    expect((await turn({})).usage).not.toHaveProperty('estimated')
  })

  it('summaries count as well', async () => {
    const { client } = await scene({ countsNothing: true }, { content: 'A summary.' })
    const log = logOf(user(long), assistant('I see.'))
    const summarize = summarizer(client, { model: 'local', window: 100_000 })
    const { origin } = right(await summarize({ effective: effective(log), covers: { first: 0, last: 1 } }))
    expect(origin.estimated?.input).toBeGreaterThan(1_000)
    expect(origin.estimated?.output).toBeGreaterThan(0)
  })
})
