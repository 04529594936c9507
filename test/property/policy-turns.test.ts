import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manageContext, type ContextPlan } from '../../src/agent/context/policy/policy.ts'
import type { ContextSettings } from '../../src/agent/context/policy/settings.ts'
import type { ConversationEvent, Covers, Policy } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { path } from '../../src/projections/path.ts'
import { tokensByBytes } from '../../src/projections/tokens.ts'
import { openStore } from '../../src/index.ts'
import { right } from '../support/either.ts'
import { text, toolUse } from '../support/log.ts'
import type { ApiRequest } from '../../src/testing/messages-api/request.ts'
import { messagesApi, type ApiExchange } from '../../src/testing/messages-api/server.ts'
import { runs, scale } from '../support/runs.ts'

// Turns of an agent in windows that are nearly full from the start: every turn in a process of its own, as far as the library can tell.

const model = 'claude-opus-5-5'
/** What a message costs the stand-in besides its text, at most. */
const perMessage = 10
const words = (count: number): string => 'word '.repeat(Math.max(1, Math.round(count)))

interface Run {
  readonly settings: ContextSettings
  /** Shares of the model's window: the system prompt, each message of the user, each reply, each result (0: no call), each summary. */
  readonly system: number
  readonly messages: readonly { readonly user: number; readonly reply: number; readonly result: number }[]
  readonly summary: number
  readonly maxResult: number | undefined
  /** The model's window by the one that the settings say. */
  readonly real: number
}

const share = (max: number, min = 0): fc.Arbitrary<number> =>
  fc.integer({ min: 1_000 * min, max: 1_000 * max }).map((thousandths) => thousandths / 1_000)

const anyRun: fc.Arbitrary<Run> = fc.record({
  settings: fc.record(
    {
      window: fc.integer({ min: 1_500, max: 4_000 }),
      reserved: fc.constant(100),
      percentage: fc.integer({ min: 40, max: 100 }),
      target: fc.constantFrom(0.2, 0.5, 1),
      keepLast: fc.integer({ min: 1, max: 4 }),
    },
    { requiredKeys: ['window', 'reserved'] },
  ),
  system: fc.oneof(share(0.5), share(0.82, 0.7), share(0.82, 0.7)),
  messages: fc.array(
    fc.record({
      user: share(0.1),
      reply: share(0.04),
      result: fc.oneof(fc.constant(0), share(0.1), share(0.1), share(1.2)),
    }),
    { minLength: 8, maxLength: 20 },
  ),
  summary: share(0.03),
  maxResult: fc.constantFrom(undefined, 1_000_000),
  real: fc.constantFrom(1, 1, 0.6),
})

interface Observed {
  readonly log: readonly ConversationEvent[]
  readonly requests: readonly ApiExchange[]
  readonly errors: readonly string[]
  /** How many requests there had been when each turn began. */
  readonly begun: readonly number[]
}

const isSummary = ({ body }: Pick<ApiExchange, 'body'>): boolean =>
  typeof body?.system === 'string' && body.system.startsWith('You summarize')

const play = async ({ settings, system, messages, summary, real, maxResult }: Run): Promise<Observed> => {
  const window = Math.round(real * settings.window)
  let turn = 0
  let hasCalled = false
  const reply = (body: ApiRequest) => {
    if (isSummary({ body })) return { content: [text(words(summary * window))] }
    const said = messages[turn]
    const calls = !hasCalled && (said?.result ?? 0) > 0
    hasCalled = calls
    return {
      content: [
        text(words((said?.reply ?? 0) * window)),
        ...(calls ? [{ ...toolUse(''), id: undefined }] : []),
      ],
    }
  }
  const api = await messagesApi({ reply, models: { [model]: { contextWindow: window } } })
  const store = await openStore('memory:')
  const errors: string[] = []
  const begun: number[] = []
  try {
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 0 })
    for (; turn < messages.length; turn++) {
      hasCalled = false
      begun.push(api.requests.length)
      const chat = store.conversation('c')
      const { user = 0, result = 0 } = messages[turn] ?? {}
      await chat.append({ role: 'user', content: words(user * window) })
      await chat
        .turn({
          client,
          model,
          system: words(system * window),
          tools: [{ name: 'run', input_schema: { type: 'object' } }],
          run: { run: () => words(result * window) },
          parameters: { max_tokens: 100 },
          context: settings,
          ...(maxResult !== undefined && { maxResult }),
          summarizer: { maxTokens: Math.ceil(window / 10), window: 20_000, model: 'claude-haiku-4-5' },
        })
        .catch((error: { readonly _tag?: string; readonly message: string }) => {
          errors.push(error._tag ?? error.message)
        })
    }
    const log: ConversationEvent[] = []
    for await (const event of store.conversation('c').events()) log.push(event)
    return { log, requests: api.requests, errors, begun }
  } finally {
    await api.close()
    await store.close()
  }
}

const policyOf = (event: ConversationEvent): Policy | undefined =>
  event.type === 'Condensed' || event.type === 'Truncated' ? event.data.policy : undefined

/** The type of the plan that an event is of. */
const typeOf = (event: ConversationEvent): ContextPlan['type'] => {
  if (event.type === 'Truncated') return 'truncate'
  return event.type === 'Condensed' && event.data.method === 'model' ? 'condense' : 'shorten'
}

const coversIn = (plan: ContextPlan): readonly Covers[] => {
  switch (plan.type) {
    case 'nothing':
      return []
    case 'condense':
      return [plan.covers]
    case 'truncate':
      return plan.covers
    case 'shorten':
      return plan.edits.map(({ covers }) => covers)
  }
}

/** Summaries that nobody asked for. */
const summariesIn = (log: Observed['log']) =>
  log.filter((event) => event.type === 'Condensed' && event.data.method === 'model' && policyOf(event))

describe('turns in a window that is nearly full', () => {
  it('write at most one summary for each tenth of the window that is said, and one after a refusal', async () => {
    const seen = { summaries: 0, truncations: 0, refusals: 0, shortened: 0 }
    const sample = (round: number): Promise<void> =>
      fc.assert(
        fc.asyncProperty(anyRun, async (run) => {
          const { log, requests, errors, begun } = await play(run)
          expect(errors.filter((tag) => tag !== 'ContextTooLarge')).toEqual([])

          const summaries = summariesIn(log)
          for (const [index, { position }] of summaries.slice(1).entries()) {
            const since = summaries[index]?.position ?? 0
            const said = path(log, position).flatMap((at) => {
              const event = log[at]
              return at > since && event?.type === 'MessageAppended' ? [event.data.content] : []
            })
            const tokens = tokensByBytes(said.flat()) + perMessage * said.length
            expect(tokens).toBeGreaterThanOrEqual(0.1 * run.settings.window)
          }

          let summed = Infinity
          let before = ''
          for (const [index, request] of requests.entries()) {
            if (begun.includes(index)) summed = Infinity
            if (isSummary(request)) summed++
            else {
              const sent = JSON.stringify(request.body)
              if (request.status === 400) {
                expect(sent).not.toBe(before)
                if (summed === Infinity) summed = 0
                seen.refusals++
              } else summed = Infinity
              before = sent
            }
            if (summed < Infinity) expect(summed).toBeLessThanOrEqual(1)
          }

          for (const event of log) {
            const policy = policyOf(event)
            if (policy?.of !== 'context' || (event.type !== 'Condensed' && event.type !== 'Truncated'))
              continue
            const { position = -1, settings = {}, options = {}, used, allowed, said } = policy
            const again = manageContext(
              effective(log, position),
              settings as unknown as ContextSettings,
              options as unknown as Parameters<typeof manageContext>[2],
            )
            const plan = right(again)
            expect({ ...plan, covers: undefined }).toMatchObject({
              type: typeOf(event),
              used,
              allowed,
              ...(said !== undefined && { said }),
            })
            expect(coversIn(plan)).toContainEqual(event.data.covers)
          }
          seen.summaries += summaries.length
          seen.shortened += log.filter((event) => policyOf(event) && typeOf(event) === 'shorten').length
          seen.truncations += log.filter(({ type }) => type === 'Truncated').length
        }),
        { numRuns: runs(20), seed: (fc.readConfigureGlobal().seed ?? 0) + round },
      )
    await sample(0)
    // Twenty stories may all lack one of these by chance: then there are more.
    for (let round = 1; round <= 9 && Object.values(seen).includes(0); round++)
      if (scale >= 1) await sample(round)
    if (scale >= 1) for (const times of Object.values(seen)) expect(times).toBeGreaterThan(0)
  })
})
