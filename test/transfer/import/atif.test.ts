import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { configurationOf, effective, messagesOf } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import type { Log } from '../../../src/projections/path.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { trajectoryOf } from '../../../src/transfer/formats/write-atif.ts'
import { atifProblems } from '../../support/atif.ts'
import { left } from '../../support/either.ts'
import { histories } from '../../support/histories.ts'
import { importFile, logsOf, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { runs, scale } from '../../support/runs.ts'

interface Fields {
  readonly [field: string]: unknown
}
const agent = { name: 'terminus', version: '2', model_name: 'gpt-5' }
const trajectory = (steps: readonly Fields[], more: Fields = {}): Fields => ({
  schema_version: 'ATIF-v1.7',
  session_id: 's',
  agent,
  steps: steps.map((step, index) => ({ step_id: index + 1, ...step })),
  ...more,
})
const fileOf = (value: unknown): { readonly text: string; readonly file: string } => ({
  text: JSON.stringify(value, undefined, 2),
  file: 'f.json',
})
const said = (role: string, ...content: readonly unknown[]): Fields => ({ role, content })
const result = (id: string, content: unknown): Fields => ({ type: 'tool_result', tool_use_id: id, content })
const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'bash', input: { keys: id } })
const call = (id: string): Fields => ({ tool_call_id: id, function_name: 'bash', arguments: { keys: id } })

describe('a trajectory', () => {
  it('its steps are messages, each followed by its results', () => {
    const value = trajectory(
      [
        { source: 'system', message: 'Be brief.' },
        {
          source: 'user',
          message: [
            { type: 'text', text: 'Look.' },
            { type: 'image', source: { media_type: 'image/png', path: 'a.png' } },
          ],
        },
        {
          source: 'agent',
          timestamp: '2026-06-01T08:00:00Z',
          message: 'I look.',
          reasoning_content: 'Hm.',
          model_name: 'gpt-5.5',
          tool_calls: [call('1'), call('2')],
          observation: {
            results: [
              { source_call_id: '1', content: 'a' },
              { source_call_id: '2', content: null },
            ],
          },
          metrics: { prompt_tokens: 10, completion_tokens: 2, cached_tokens: 4, cost_usd: 0.1 },
        },
        {
          source: 'agent',
          message: '',
          tool_calls: [call('3')],
          observation: { results: [{ content: 'b' }] },
        },
        { source: 'agent', message: 'Done.', observation: { results: [{ content: 'The screen.' }] } },
        { source: 'system', message: 'Time is up.' },
      ],
      { continued_trajectory_ref: 'next.json' },
    )
    for (const text of [JSON.stringify(value), JSON.stringify(value, undefined, 2)]) {
      const plan = planOf({ text, file: 'f' })
      expect(plan).toMatchObject({ format: 'atif', conversations: [{ id: 's' }] })
      expect(plan.report.notes).toEqual([
        expect.stringContaining('next.json'),
        expect.stringContaining('images'),
      ])
      const log = onlyLog(importFile({ text, file: 'f' }))
      expect(shownIn(log)).toEqual([
        said('user', textBlock('Look.'), textBlock('[image in the file a.png]')),
        said('assistant', { type: 'thinking', thinking: 'Hm.' }, textBlock('I look.'), use('1'), use('2')),
        said('user', result('1', 'a'), result('2', '')),
        said('assistant', use('3')),
        said('user', result('3', 'b')),
        said('assistant', textBlock('Done.')),
        said('user', textBlock('The screen.')),
        said('system', textBlock('Time is up.')),
      ])
      expect(configurationOf(effective(log))).toMatchObject({ system: 'Be brief.', model: 'gpt-5' })
      expect(effective(log).items[1]).toMatchObject({
        time: '2026-06-01T08:00:00.000Z',
        origin: {
          model: 'gpt-5.5',
          usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 2 },
        },
      })
      expect(violations({ rendered: render(effective(log)) })).toEqual([])
    }
  })

  it('a file that has grown adds its new steps', () => {
    const steps = [
      { source: 'user', message: 'one' },
      { source: 'agent', message: 'first' },
      { source: 'user', message: 'two' },
    ]
    const archive = importFile(fileOf(trajectory(steps.slice(0, 2))))
    const log = onlyLog(importFile(fileOf(trajectory(steps)), archive))
    expect(log.filter(({ type }) => type === 'MessageAppended')).toHaveLength(3)
  })

  it('the subagents in it are conversations with links', () => {
    const child = {
      ...trajectory([{ source: 'user', message: 'Help.' }]),
      session_id: undefined,
      trajectory_id: 'sub',
    }
    const ref = [{ trajectory_id: 'sub' }]
    const { conversations } = planOf(
      fileOf(
        trajectory(
          [
            { source: 'user', message: 'Go.' },
            {
              source: 'agent',
              message: '',
              tool_calls: [call('1')],
              observation: {
                results: [{ source_call_id: '1', content: 'ok', subagent_trajectory_ref: ref }],
              },
            },
          ],
          { subagent_trajectories: [child] },
        ),
      ),
    )
    expect(conversations).toMatchObject([
      { id: 's', notes: [{ data: { relation: 'has-subagent', conversation: 's:sub', call: '1' } }] },
      { id: 's:sub', notes: [{ data: { relation: 'subagent-of', conversation: 's' } }] },
    ])
  })

  it('a step that cannot be stored is a bad line', () => {
    for (const step of [
      { source: 'user', message: 7 },
      { source: 'agent', message: '', tool_calls: [{ tool_call_id: 'x' }] },
      { source: 'user', message: [null] },
    ])
      expect(
        left(parseSession(fileOf(trajectory([{ source: 'user', message: 'Hi.' }, step])))),
      ).toMatchObject({ _tag: 'BadLine' })
    const torn = fileOf(trajectory([{ source: 'user', message: 'Hi.' }])).text.slice(0, -20)
    expect(left(parseSession({ text: torn, file: 'f' }))).toMatchObject({ _tag: 'BadLine' })
  })
})

const blocksIn = (log: Log): readonly unknown[] =>
  effective(log)
    .items.flatMap((item) => messagesOf(item))
    .flatMap(({ role, content }) => content.map((block) => [role, block]))

describe('a conversation at any position, exported and imported again', () => {
  it('has the same effective history; the trajectory keeps the rules of the format', () => {
    fc.assert(
      fc.property(histories(30), fc.nat(1_000_000), (log, picked) => {
        fc.pre(log.length > 0)
        const shown = effective(log, picked % log.length)
        const written = JSON.parse(JSON.stringify(trajectoryOf(shown, 'c'))) as Fields
        expect(atifProblems(written)).toEqual([])
        const [imported] = logsOf(importFile(fileOf(written))).values()
        const expected = shown.items
          .flatMap((item) => messagesOf(item))
          .flatMap(({ role, content }) => content.map((block) => [role, block]))
        expect(imported ? blocksIn(imported) : []).toEqual(expected)
      }),
      { numRuns: scale < 1 ? runs(200) : 1_000 },
    )
  })
})
