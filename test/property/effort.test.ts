import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effective, fieldsOf, messagesOf } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/render.ts'
import type { ApiBlock } from '../../src/testing/messages-api/blocks.ts'
import { createAnswers } from '../../src/testing/messages-api/answers.ts'
import { apply, steps } from '../support/histories.ts'
import { eventAt, text } from '../support/log.ts'
import { runs } from '../support/runs.ts'

// Messages that set the effort: `{ role: 'system', content: [], output_config: { effort } }`.

const efforts = fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max')
type Step = (log: Log) => Log

const sets: fc.Arbitrary<Step> = efforts.map((effort) => (log) => {
  const data = { role: 'system' as const, content: [], output_config: { effort } }
  return [...log, eventAt({ type: 'MessageAppended', data }, log.length)]
})
/** A summary that sets the effort again, as Claude Code's do. */
const condenses: fc.Arbitrary<Step> = fc.tuple(efforts, fc.nat(4)).map(([effort, keepLast]) => (log) => {
  const summary = [
    { role: 'user' as const, content: [text('What was said.')] },
    { role: 'system' as const, content: [], output_config: { effort } },
  ]
  return apply(log, { type: 'condense', summary, keepLast })
})
const others: fc.Arbitrary<Step> = steps.map((step) => (log) => apply(log, step(log)))

const logs: fc.Arbitrary<Log> = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: others },
      { weight: 2, arbitrary: sets },
      { weight: 1, arbitrary: condenses },
    ),
    { minLength: 1, maxLength: 30, size: 'max' },
  )
  .map((all) => all.reduce<Log>((log, step) => step(log), []))

const model = 'claude-opus-5-5'

describe('a history that sets the effort', () => {
  it('renders as requests that the API takes, with each setting in its order, or a repair that says why not', async () => {
    const answerTo = createAnswers({
      foreignSignatures: true,
      foreignPauses: true,
      // The last message may be a paused reply.
      models: { [model]: { prefill: true } },
      reply: () => ({ content: [text('Yes.')] }),
    })
    let sent = 0
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        for (const at of log.keys()) {
          const history = effective(log, at)
          const { system, tools, messages, repairs, awaits } = render(history, { systemMessages: true })
          if (awaits === 'beginning') continue
          const left = new Set(repairs.map(({ position }) => position))
          const compacted = repairs.findLast(({ kind }) => kind === 'compaction-applied')?.position ?? -1
          const kept = messages.flatMap(({ output_config }) => output_config ?? [])
          const stored = history.items.flatMap((item) =>
            messagesOf(item).flatMap((message) => ({
              position: item.position,
              settings: fieldsOf(item, message)?.['output_config'],
            })),
          )
          let rest = kept
          for (const { position, settings } of stored) {
            if (settings === undefined) continue
            const index = rest.findIndex((each) => isDeepStrictEqual(each, settings))
            const isReported = left.has(position) || position <= compacted
            if (!isReported) expect(index, `the effort of ${position} at ${at}`).toBe(0)
            if (index === 0) rest = rest.slice(1)
          }
          expect(rest.length, `at ${at}`).toBeLessThanOrEqual(
            stored.filter(({ position }) => left.has(position)).length,
          )
          sent += kept.length
          if (awaits !== 'model') continue
          const body: unknown = JSON.parse(
            JSON.stringify({ model, max_tokens: 100, system, tools, messages }),
          )
          expect(await answerTo(body, false), `at ${at}`).toHaveProperty('message')
        }
      }),
      { numRuns: runs(1_000) },
    )
    expect(sent).toBeGreaterThan(0)
  })

  /** What happens next: somebody speaks, sets the effort, hides something, or the model is asked. */
  const acts = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('ask' as const) },
      { weight: 2, arbitrary: fc.constant('say' as const) },
      { weight: 2, arbitrary: fc.constant('result' as const) },
      { weight: 3, arbitrary: efforts.map((effort) => ({ effort })) },
      { weight: 1, arbitrary: fc.constant('condense' as const) },
      { weight: 1, arbitrary: fc.constant('rewind' as const) },
    ),
    { minLength: 4, maxLength: 30, size: 'max' },
  )

  it('keeps the thinking of replies valid, which are bound to the settings before them', async () => {
    let bound = 0
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        let calls = 0
        const answerTo = createAnswers({
          reply: (_, n) => ({
            content: [
              { type: 'thinking', thinking: `thought ${n}`, signature: '' },
              ...(n % 2 === 0 ? [{ type: 'tool_use', id: `call_${calls++}`, name: 'run', input: {} }] : []),
              text(`reply ${n}`),
            ].toSorted((one) => (one.type === 'tool_use' ? 1 : 0)),
          }),
        })
        let log: Log = [
          eventAt({ type: 'MessageAppended', data: { role: 'user', content: [text('Hi.')] } }, 0),
        ]
        const append = (message: {
          role: 'user' | 'assistant' | 'system'
          content: readonly ApiBlock[]
          origin?: object
          output_config?: object
        }): void => {
          log = [...log, eventAt({ type: 'MessageAppended', data: message as never }, log.length)]
        }
        for (const act of all) {
          if (typeof act === 'object') append({ role: 'system', content: [], output_config: act })
          else if (act === 'say') append({ role: 'user', content: [text('And?')] })
          else if (act === 'condense') log = apply(log, { type: 'condense', summary: 'So far.', keepLast: 3 })
          else if (act === 'rewind') log = apply(log, { type: 'rewind', turns: 1 })
          else if (act === 'result') {
            const id = log.findLast(
              (event) => event.type === 'MessageAppended' && event.data.role === 'assistant',
            )
            const use =
              id?.type === 'MessageAppended'
                ? id.data.content.find(({ type }) => type === 'tool_use')
                : undefined
            if (use) append({ role: 'user', content: [{ type: 'tool_result', tool_use_id: use['id'] }] })
          } else {
            const position = log.length - 1
            const { messages, awaits } = render(effective(log), { systemMessages: true })
            if (awaits !== 'model') continue
            const body = { model, max_tokens: 100, messages, thinking: { type: 'adaptive' } }
            const answer = await answerTo(JSON.parse(JSON.stringify(body)), false)
            expect(answer).toHaveProperty('message')
            if (!('message' in answer)) continue
            const { id, content, stop_reason: stopReason } = answer.message
            if (messages.some(({ output_config }) => output_config)) bound++
            const options = { renderer: 2, systemMessages: true, repairs: {} }
            const context = { position, digest: '0'.repeat(64), options }
            append({ role: 'assistant', content, origin: { requestId: id, stopReason, context } })
          }
        }
      }),
      { numRuns: runs(300) },
    )
    expect(bound).toBeGreaterThan(0)
  })
})
