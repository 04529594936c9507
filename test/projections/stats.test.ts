import { type Block, type ConversationEvent, openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { statsOf } from '../../src/projections/stats.ts'

const use = (id: string, name: string): Block => ({ type: 'tool_use', id, name, input: {} })
const result = (id: string, isError: boolean): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'x'.repeat(33),
  is_error: isError,
})
const now = (seconds: number) => ({ now: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)) })

const conversation = async (): Promise<readonly ConversationEvent[]> => {
  const store = await openStore('memory:')
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'x'.repeat(33) }, now(1))
  await chat.append(
    { role: 'assistant', content: [use('a', 'read'), use('b', 'grep'), use('c', 'grep')] },
    now(2),
  )
  await chat.append(
    { role: 'user', content: [result('a', false), result('b', true), result('z', true)] },
    now(3),
  )
  await chat.append({ role: 'assistant', content: [use('d', 'edit'), use('e', 'write')] }, now(4))
  await chat.rewind({ to: 2 })
  await chat.append({ role: 'system', content: 'x'.repeat(33) }, now(5))
  await chat.condense({ covers: { first: 1, last: 2 }, summary: 'x'.repeat(66) })
  await chat.append({ role: 'assistant', content: 'done' }, now(6))
  await chat.truncate({ covers: { first: 5, last: 5 }, ...now(7) })
  const log: ConversationEvent[] = []
  for await (const event of chat.events()) log.push(event)
  await store.close()
  return log
}

describe('stats', () => {
  test('count messages by role and by what became of them, abandoned branches included', async () => {
    const { messages, shown, hidden, abandoned, branches, last } = statsOf(await conversation())
    expect(messages).toEqual({ user: 2, assistant: 3, system: 1 })
    expect({ shown, hidden, abandoned }).toEqual({ shown: 2, hidden: 3, abandoned: 1 })
    expect({ branches, last }).toEqual({ branches: 2, last: 8 })
  })

  test('count events by type, from the first to the last', async () => {
    const { events, started, updated } = statsOf(await conversation())
    expect(events).toEqual({ MessageAppended: 6, Rewound: 1, Condensed: 1, Truncated: 1 })
    expect(started).toBe('2026-01-01T00:00:01.000Z')
    expect(updated).toBe('2026-01-01T00:00:07.000Z')
  })

  test('count calls and errors by tool, the most called first, then by name; a result without a call counts nowhere', async () => {
    expect(statsOf(await conversation()).tools).toEqual([
      { name: 'grep', calls: 2, errors: 1 },
      { name: 'edit', calls: 1, errors: 0 },
      { name: 'read', calls: 1, errors: 0 },
      { name: 'write', calls: 1, errors: 0 },
    ])
  })

  test('estimate what is stored and what the model sees', async () => {
    const { tokens } = statsOf(await conversation())
    // 33 characters are ten tokens: the task, and a summary of twenty; "done" is two.
    expect(tokens.shown).toBe(32)
    expect(tokens.stored).toBeGreaterThan(50)
  })

  test('an empty log has none of anything', () => {
    expect(statsOf([])).toEqual({
      started: '',
      updated: '',
      last: -1,
      events: {},
      messages: { user: 0, assistant: 0, system: 0 },
      branches: 0,
      shown: 0,
      hidden: 0,
      abandoned: 0,
      tokens: { stored: 0, shown: 0 },
      tools: [],
    })
  })
})
