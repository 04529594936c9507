import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { type Archive, importFile, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'

interface Fields {
  readonly [field: string]: unknown
}
const text = (said: string, more: Fields = {}): Fields => ({ type: 'text', text: said, ...more })
const user = (id: string, ...parts: readonly Fields[]): Fields => ({
  info: {
    id,
    role: 'user',
    time: { created: 1 },
    model: { providerID: 'anthropic', modelID: 'claude-sonnet-5' },
  },
  parts: parts.length > 0 ? parts : [text(id)],
})
const reply = (id: string, parts: readonly Fields[] = [text(id)], info: Fields = {}): Fields => ({
  info: { id, role: 'assistant', time: { created: 2 }, modelID: 'claude-sonnet-5', finish: 'stop', ...info },
  parts: [{ type: 'step-start' }, ...parts, { type: 'step-finish', tokens: { input: 5, output: 1 } }],
})
const call = (id: string, state: Fields): Fields => ({
  type: 'tool',
  callID: id,
  tool: 'read',
  state: { input: {}, ...state },
})
const done = (output: string, time: Fields = {}): Fields => ({ status: 'completed', output, time })
const fileOf = (
  messages: readonly Fields[],
  info: Fields = {},
): { readonly text: string; readonly file: string } => ({
  text: JSON.stringify({ info: { id: 'ses_1', title: 'A title', ...info }, messages }),
  file: 'o.json',
})
const imported = (messages: readonly Fields[], info: Fields = {}, archive?: Archive): Archive =>
  importFile(fileOf(messages, info), archive)
const shown = (messages: readonly Fields[], info: Fields = {}): readonly unknown[] =>
  shownIn(onlyLog(imported(messages, info)))
const said = (role: string, ...content: readonly unknown[]): Fields => ({ role, content })
const result = (id: string, content: string, more: Fields = {}): Fields => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})

describe('an export of opencode', () => {
  it('its steps are replies, each followed by the results of its calls', () => {
    const archive = imported([
      user('u', text('Look.'), text('not sent', { ignored: true }), {
        type: 'file',
        mime: 'image/png',
        url: 'data:image/png;base64,AAAA',
      }),
      reply('r', [
        { type: 'reasoning', text: 'Hm.', metadata: { anthropic: { signature: 'sig' } } },
        call('1', done('one')),
        call('2', { status: 'error', error: 'no such file' }),
        { type: 'step-finish' },
        { type: 'step-start' },
        text('On.'),
        call('3', { status: 'running' }),
      ]),
    ])
    const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'read', input: {} })
    expect(shownIn(onlyLog(archive))).toEqual([
      said('user', textBlock('Look.'), {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
      }),
      said('assistant', { type: 'thinking', thinking: 'Hm.', signature: 'sig' }, use('1'), use('2')),
      said('user', result('1', 'one'), result('2', 'no such file', { is_error: true })),
      said('assistant', textBlock('On.'), use('3')),
      said('user', result('3', '[Tool execution was interrupted]', { is_error: true })),
    ])
    expect(violations({ rendered: render(effective(onlyLog(archive))) })).toEqual([])
  })

  const compaction = (tail?: string): readonly Fields[] => [
    user('c', { type: 'compaction', auto: true, ...(tail !== undefined && { tail_start_id: tail }) }),
    reply('s', [text('A summary.')], { summary: true, parentID: 'c' }),
  ]
  const summary = {
    summary: [said('user', textBlock('What did we do so far?')), said('assistant', textBlock('A summary.'))],
  }

  it('a compaction hides what is before its tail', () => {
    const before = [user('u1'), reply('r1'), user('u2'), reply('r2')]
    const after = user('u3')
    expect(shown([...before, ...compaction(), after])).toEqual([summary, said('user', textBlock('u3'))])
    expect(shown([...before, ...compaction('u2'), after])).toEqual([
      summary,
      said('user', textBlock('u2')),
      said('assistant', textBlock('r2')),
      said('user', textBlock('u3')),
    ])
    const [asked = user('c'), unfinished] = [
      compaction()[0],
      reply('s', [], { summary: true, parentID: 'c', finish: undefined }),
    ]
    expect(shown([...before, asked, unfinished])).toHaveLength(4)
  })

  it('a pruned result is an edit: the log has what the model saw before', () => {
    const messages = (time: Fields): readonly Fields[] => [
      user('u'),
      reply('r', [call('1', done('long', time))]),
    ]
    const whole = imported(messages({}))
    const pruned = onlyLog(imported([...messages({ compacted: 3 }), user('on')], {}, whole))
    expect(pruned[3]).toMatchObject({ type: 'MessageAppended', data: { content: [result('1', 'long')] } })
    expect(shownIn(pruned)).toContainEqual({
      summary: [said('user', result('1', '[Old tool result content cleared]'))],
    })
    expect(shownIn(pruned).at(-1)).toEqual(said('user', textBlock('on')))
  })

  it('what was reverted is not shown; that it is deleted later is no damage', () => {
    const messages = [
      user('u1'),
      reply('r1'),
      user('u2'),
      reply('r2', [text('kept'), text('gone', { id: 'prt_2' })]),
    ]
    expect(shown(messages, { revert: { messageID: 'u2' } })).toEqual([
      said('user', textBlock('u1')),
      said('assistant', textBlock('r1')),
    ])
    expect(shown(messages, { revert: { messageID: 'r2', partID: 'prt_2' } }).at(-1)).toEqual(
      said('assistant', textBlock('kept')),
    )
    const reverted = imported(messages, { revert: { messageID: 'u2' } })
    const cleaned = imported([...messages.slice(0, 2), user('u4')], {}, reverted)
    expect(shownIn(onlyLog(cleaned)).at(-1)).toEqual(said('user', textBlock('u4')))
    expect(onlyLog(cleaned)).toHaveLength(onlyLog(reverted).length + 1)
  })

  it('knows its title, the session that started it and those that it started', () => {
    const task = {
      type: 'tool',
      callID: '9',
      tool: 'task',
      state: { ...done('x'), metadata: { sessionId: 'ses_2' } },
    }
    const { conversations, report } = planOf(
      fileOf([user('u'), reply('r', [task]), reply('f', [], { error: { name: 'x' } })], {
        parentID: 'ses_0',
      }),
    )
    expect(conversations).toMatchObject([
      {
        id: 'ses_1',
        notes: [
          { data: { relation: 'has-subagent', conversation: 'ses_2', call: '9' } },
          { data: { relation: 'subagent-of', conversation: 'ses_0' } },
          { data: { kind: 'title', data: 'A title' } },
        ],
      },
    ])
    expect(report.leftOut).toMatchObject([{ kind: 'message assistant', reason: 'a reply that failed' }])
  })
})
