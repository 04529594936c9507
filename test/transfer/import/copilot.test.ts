import { describe, expect, it } from 'vitest'
import { textBlock } from '../../../src/events/blocks.ts'
import { configurationOf, effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import type { Log } from '../../../src/projections/path.ts'
import { importFile, jsonl, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'

interface Fields {
  readonly [field: string]: unknown
}
let count = 0
const event = (type: string, data: Fields, id = `e${++count}`): Fields => ({
  type,
  data,
  id,
  timestamp: '2026-06-01T08:00:00.000Z',
  parentId: null,
})
const start = event('session.start', { sessionId: 's', selectedModel: 'claude-sonnet-5' })
const user = (content: string, id?: string): Fields =>
  event('user.message', { content, transformedContent: `[now] ${content}` }, id)
const reply = (content: string, more: Fields = {}): Fields =>
  event('assistant.message', { content, toolRequests: [], ...more })

const logOf = (...events: readonly Fields[]): Log =>
  onlyLog(importFile({ text: jsonl(start, ...events), file: 'f' }))
const shown = (...events: readonly Fields[]): readonly unknown[] => shownIn(logOf(...events))

describe('a Copilot CLI session', () => {
  it('its prompts are as they were sent; replies have thinking, text and calls', () => {
    const log = logOf(
      event('system.message', { role: 'system', content: 'Be brief.' }),
      user('List.'),
      event('hook.start', {}),
      reply('', {
        reasoningText: 'Hm.',
        reasoningOpaque: 'xyz',
        toolRequests: [{ toolCallId: 'c', name: 'bash', arguments: { command: 'ls' }, type: 'function' }],
        outputTokens: 7,
      }),
      event('tool.execution_start', { toolCallId: 'c' }),
      event('tool.execution_complete', { toolCallId: 'c', success: false, error: { message: 'no' } }),
      reply(''),
    )
    expect(configurationOf(effective(log))).toMatchObject({ model: 'claude-sonnet-5', system: 'Be brief.' })
    expect(shownIn(log)).toEqual([
      { role: 'user', content: [textBlock('[now] List.')] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', reasoning_opaque: 'xyz' },
          { type: 'tool_use', id: 'c', name: 'bash', input: { command: 'ls' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'no', is_error: true }] },
    ])
    expect(effective(log).items[1]).toMatchObject({
      origin: { model: 'claude-sonnet-5', usage: { output_tokens: 7 } },
    })
    expect(violations({ rendered: render(effective(log)) })).toEqual([])
  })

  it('a compaction is a condense, or a truncate where the file does not hold the summary', () => {
    const compacted = (data: Fields): Fields =>
      event('session.compaction_complete', { success: true, ...data })
    expect(
      shown(user('one'), reply('first'), compacted({ summaryContent: 'They greeted.' }), user('two')),
    ).toEqual([
      { summary: [{ role: 'user', content: [textBlock('They greeted.')] }] },
      { role: 'user', content: [textBlock('[now] two')] },
    ])
    expect(shown(user('one'), reply('first'), compacted({}))).toEqual([{ truncated: 2 }])
    expect(shown(user('one'), compacted({ success: false }))).toHaveLength(1)
  })

  it('a rewind takes back the events from the one that it names', () => {
    const back = (upToEventId: string): Fields => event('session.snapshot_rewind', { upToEventId })
    expect(
      shown(user('one'), reply('first'), user('two', 'x'), reply('second'), back('x'), user('three')),
    ).toEqual([
      { role: 'user', content: [textBlock('[now] one')] },
      { role: 'assistant', content: [textBlock('first')] },
      { role: 'user', content: [textBlock('[now] three')] },
    ])
    expect(shown(user('one'), back('nothing'))).toHaveLength(1)
  })

  it('says what it leaves out', () => {
    const { report } = planOf({
      text: jsonl(
        start,
        user('one'),
        reply('of a subagent', { parentToolCallId: 'c' }),
        event('session.truncation', { messagesRemovedDuringTruncation: 2 }),
        event('session.shutdown', {}),
      ),
      file: 'f',
    })
    expect(report.leftOut.map(({ kind }) => kind)).toEqual([
      'assistant.message',
      'session.truncation',
      'event',
    ])
    expect(report.notes).toHaveLength(1)
  })
})
