import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { toolCalls } from '../../src/projections/pairs.ts'
import { type Effective, effective } from '../../src/projections/effective.ts'
import { fillers } from '../../src/projections/render/page.ts'
import { render, type RenderResult } from '../../src/projections/render/render.ts'
import { assistant, eventAt, text, thinking, toolResult, toolUse, truncated, user } from '../support/log.ts'
import { hello } from '../support/render-log.ts'

// No spread: these are longer than the stack is deep.
const historyOf = (events: readonly Event[]): Effective => effective(events.map(eventAt))
const rendered = (events: readonly Event[]): RenderResult => render(historyOf(events))

describe('a history that is too long for one request', () => {
  it('loses its beginning, up to a message of the user', () => {
    const pair = [hello, assistant('Yes.')]
    const thought = assistant([thinking('s'), text('Hm.')])
    const { messages, repairs, awaits } = rendered([
      ...Array.from({ length: 50_001 }, () => pair).flat(),
      hello,
      thought,
      user('Now?'),
    ])
    // Of 100,005 items the first message of the user in the newer half is at 50,004.
    expect(messages).toHaveLength(50_001)
    expect([messages[0]?.role, messages.at(-1)?.content, awaits]).toEqual(['user', [text('Now?')], 'model'])
    expect(messages.at(-2)?.content).toEqual([text('Hm.')])
    expect(repairs).toMatchObject([
      {
        kind: 'history-cut',
        position: 50_004,
        detail: 'the 50004 items before 50004 are left out: a request holds 100000 messages at most',
      },
      { kind: 'thinking-dropped', position: 100_003 },
    ])
  })

  it('is cut in the middle where no message of the user begins the newer half', () => {
    const rounds = Array.from({ length: 50_000 }, (_, n) => [
      assistant([toolUse(`c${n}`)]),
      user([toolResult(`c${n}`)]),
    ])
    const { messages, repairs } = rendered([hello, ...rounds.flat()])
    expect(repairs[0]).toMatchObject({ kind: 'history-cut', position: 50_001 })
    expect(messages[0]?.content).toEqual([text(fillers.noBeginning)])
    expect(messages).toHaveLength(50_001)
  })
})

// Sizes at which a spread overflows the stack, or at which work for every pair of calls would be felt.
describe('a request has room for', () => {
  const many = <A>(count: number, make: (n: number) => A): readonly A[] =>
    Array.from({ length: count }, (_, n) => make(n))
  const use = (id: string): Block => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
  const found = (id: string): Block => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })

  it('130,000 messages of one role in a row, which are one', () => {
    const { messages, repairs } = rendered(many(130_000, (n) => user(`${n}`)))
    expect(messages).toHaveLength(1)
    expect(messages[0]?.content).toHaveLength(130_000)
    expect(messages[0]?.content.at(-1)).toEqual(text('129999'))
    expect(repairs).toHaveLength(129_999)
  })

  it('messages of 130,000 blocks', () => {
    const blocks = many(130_000, (n) => text(`${n}`))
    const { messages } = rendered([user(blocks), user(blocks), assistant(blocks), user('So?')])
    expect(messages.map(({ content }) => content.length)).toEqual([260_000, 130_000, 1])
  })

  it('130,000 pieces of thinking that cannot stay', () => {
    const thoughts = many(130_000, () => thinking('t'))
    const { messages } = rendered([
      hello,
      assistant([...thoughts, use('s'), toolUse('a')]),
      user([toolResult('a'), text('Stop.')]),
    ])
    expect(messages[1]?.content).toEqual([toolUse('a')])
  })

  const count = 12_000
  const ids = many(count, (n) => `c${n}`)
  const asked = ids.map((id) => assistant([toolUse(id)]))
  const answered = ids.map((id) => user([toolResult(id)]))
  it.each<readonly [string, readonly Event[]]>([
    ['calls of one message, answered in another', [assistant(ids.map((id) => toolUse(id))), ...answered]],
    ['calls recorded one by one', [...asked, ...answered]],
    ['calls answered in reverse order', [...asked, ...answered.toReversed()]],
    [
      'calls that are each followed by the one before’s result',
      [
        ...asked.slice(0, 1),
        ...ids.flatMap((_, n) => [...asked.slice(n + 1, n + 2), ...answered.slice(n, n + 1)]),
      ],
    ],
    [
      'calls with words between, answered at last',
      [...asked.flatMap((call) => [call, assistant('And:')]), ...answered],
    ],
    [
      'calls with words between, answered at last and in reverse order',
      [...asked.flatMap((call) => [call, assistant('And:')]), ...answered.toReversed()],
    ],
  ])('%s', (_, events) => {
    const history = historyOf([hello, ...events])
    const { messages, repairs } = render(history)
    const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    expect(messages).toHaveLength(3)
    expect(results).toHaveLength(count)
    expect(results.some((result) => result['is_error'] === true)).toBe(false)
    expect(repairs.filter(({ kind }) => kind !== 'roles-merged' && kind !== 'tools-unknown')).toEqual([])
    expect(toolCalls(history)).toHaveLength(count)
  })

  it('calls of one id, made and answered one after the other, or all at once', () => {
    const [call, result] = [assistant([toolUse('c')]), user([toolResult('c')])]
    for (const events of [
      many(count / 2, () => [call, result]).flat(),
      [...many(count, () => call), ...many(count, () => result)],
    ]) {
      const { messages } = rendered([hello, ...events])
      const sent = messages.flatMap(({ content }) => content.map(({ id, tool_use_id: of }) => id ?? of))
      expect(new Set(sent).size).toBe(messages.length > 3 ? count / 2 + 1 : count + 1)
    }
  })

  it('server tools whose results come, or never do', () => {
    const uses = ids.map(use)
    const round = [hello, assistant([...uses, toolUse('a')]), user([toolResult('a')])]
    const served = rendered([...round, assistant(ids.map(found))])
    expect(served.messages[3]?.content).toHaveLength(count)
    expect(rendered([...round, user('Stop.')]).messages[1]?.content).toEqual([toolUse('a')])
    expect(rendered([hello, ...uses.map((one) => assistant([one])), user('Stop.')]).messages).toHaveLength(1)
  })

  it('results put before words', () => {
    const mixed = user(ids.flatMap((id) => [text(id), toolResult(id)]))
    const { messages } = rendered([hello, assistant(ids.map((id) => toolUse(id))), mixed])
    expect(messages[2]?.content.slice(count - 1, count + 1)).toEqual([
      toolResult(`c${count - 1}`),
      text('c0'),
    ])
  })

  it('notes of truncations', () => {
    const events = many(count / 2, (n) => [user('x'), truncated(2 * n, 2 * n)]).flat()
    const { messages } = rendered([...events, user('So?')])
    expect(messages[0]?.content).toHaveLength(count / 2 + 1)
  })
})
