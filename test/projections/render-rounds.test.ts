import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event, Origin } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { toolCalls } from '../../src/projections/pairs.ts'
import { render, type RenderOptions } from '../../src/projections/render/render.ts'
import { fillers } from '../../src/projections/render/page.ts'
import {
  assistant,
  compacted,
  condensed,
  logOf,
  said,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { hello, renderLog } from '../support/render-log.ts'

const short = (block: Block): string => {
  if (block.type === 'text') return block.text
  if (block['is_error'] === true) return `error ${String(block['tool_use_id'])}`
  const name = [block['id'], block['tool_use_id'], block['signature']].find(
    (value) => typeof value === 'string',
  )
  return `${block.type.replace(/^(web_search|mcp|server)_tool_/, 'server_').replace(/^tool_/, '')} ${name ?? ''}`
}
/** A request, one message a line: `user: text | result a`; and whose turn it is. */
const script = (events: readonly Event[], options: RenderOptions = {}): readonly string[] => {
  const { messages, awaits } = render(effective(logOf(...events)), options)
  return [...messages.map(({ role, content }) => `${role}: ${content.map(short).join(' | ')}`), awaits]
}
const repairsOf = (...events: readonly Event[]): readonly string[] =>
  renderLog(events).repairs.map(({ kind, position }) => `${kind} ${position}`)

const use = (id: string): Block => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
const found = (id: string): Block => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })
const programmed = (id: string, caller: string): Block => ({
  ...toolUse(id),
  caller: { type: 'code_execution_20250825', tool_id: caller },
})
const paused: Origin = { stopReason: 'pause_turn', requestId: 'p' }
/** A reply whose request was made of the history through that position. */
const asked = (position: number): Origin => ({
  context: { position, digest: '0'.repeat(64), options: { renderer: 1 } },
})

describe('a paused turn', () => {
  const pause = assistant([thinking('t'), text('I look.'), use('s')], paused)

  it('is the last message, whole, its server tool use included', () => {
    expect(script([hello, pause])).toEqual([
      'user: Hello.',
      'assistant: thinking t | I look. | server_use s',
      'model',
    ])
    expect(repairsOf(hello, pause)).toEqual([])
  })

  it('continues with the reply that has the result', () => {
    const next = assistant([found('s'), thinking('u'), text('So.')], { requestId: 'q' })
    expect(script([hello, pause, next])).toEqual([
      'user: Hello.',
      'assistant: thinking t | I look. | server_use s | server_result s | thinking u | So.',
      'user',
    ])
  })

  it('may be paused again, and may hold a use of an MCP server', () => {
    const [mcp, result] = [
      { ...use('m'), type: 'mcp_tool_use' },
      { ...found('m'), type: 'mcp_tool_result' },
    ]
    const events = [hello, pause, assistant([found('s'), mcp], { ...paused, requestId: 'q' })]
    expect(script(events).slice(1)).toEqual([
      'assistant: thinking t | I look. | server_use s | server_result s | server_use m',
      'model',
    ])
    expect(script([...events, assistant([result, text('So.')])]).slice(1)).toEqual([
      'assistant: thinking t | I look. | server_use s | server_result s | server_use m | server_result m | So.',
      'user',
    ])
  })

  it('that the user ends loses its server tool use and its thinking, with a repair each', () => {
    expect(script([hello, pause, user('Stop.')])).toEqual([
      'user: Hello.',
      'assistant: I look.',
      'user: Stop.',
      'model',
    ])
    expect(repairsOf(hello, pause, user('Stop.'))).toEqual(['server-tool-dropped 1', 'thinking-dropped 1'])
    // What comes too late for its use stands alone.
    expect(script([hello, pause, user('Stop.'), assistant([found('s'), text('Yes.')])]).slice(2)).toEqual([
      'user: Stop.',
      'assistant: Yes.',
      'user',
    ])
  })

  it('of which nothing remains then leaves two messages of the user, which are one', () => {
    const events = [hello, assistant([use('s')], paused), user('Stop.')]
    expect(script(events)).toEqual(['user: Hello. | Stop.', 'model'])
    expect(repairsOf(...events)).toEqual(['server-tool-dropped 1', 'message-dropped 1', 'roles-merged 2'])
    // The message that is the last one again was given away before.
    const log = logOf(...events)
    const before = render(effective(log, 0))
    render(effective(log, 2))
    expect(before.messages[0]?.content).toEqual([text('Hello.')])
  })

  it('that another reply follows without the result loses the use too', () => {
    const next = assistant([thinking('u'), text('So.')], { requestId: 'q' })
    expect(script([hello, pause, next]).slice(1)).toEqual(['assistant: I look. | So.', 'user'])
    expect(repairsOf(hello, pause, next)).toContain('thinking-dropped 2')
  })

  it('is no prefill: in one of those no server tool use may wait', () => {
    expect(script([hello, pause], { prefill: true }).at(-2)).toContain('server_use s')
    const other = assistant([thinking('t'), text('I look.'), use('s')])
    expect(script([hello, other], { prefill: true })).toEqual(['user: Hello.', 'assistant: I look.', 'model'])
    expect(script([hello, other], {}).at(-2)).toContain('server_use s')
  })
})

describe('a server tool beside a client tool', () => {
  const both = assistant([thinking('t'), use('s'), toolUse('a')])
  const results = user([toolResult('a')])
  const open = ['user: Hello.', 'assistant: thinking t | server_use s | use a', 'user: result a']

  it('waits while only results follow, and its result comes first in the next reply', () => {
    expect(script([hello, both, results])).toEqual([...open, 'model'])
    const next = assistant([found('s'), thinking('u'), text('So.')])
    expect(script([hello, both, results, next, user('Thanks.')])).toEqual([
      ...open,
      'assistant: server_result s | thinking u | So.',
      'user: Thanks.',
      'model',
    ])
    expect(repairsOf(hello, both, results, next)).toEqual([])
  })

  it.each<readonly [string, readonly Event[]]>([
    ['in a message of its own', [results, user('Well?')]],
    ['beside the results', [user([toolResult('a'), text('Well?')])]],
    ['as a system message', [results, said('system', 'Well?')]],
  ])('is left out where the user says something before, %s', (_, events) => {
    expect(script([hello, both, ...events])).toEqual([
      'user: Hello.',
      'assistant: use a',
      'user: result a | Well?',
      'model',
    ])
    const next = assistant([found('s'), thinking('u'), text('So.')])
    expect(script([hello, both, ...events, next]).at(-2)).toBe('assistant: So.')
  })

  it('is left out where a system message comes before that the model takes', () => {
    const events = [hello, both, results, said('system', 'Be brief.')]
    expect(script(events, { systemMessages: true })[1]).toBe('assistant: use a')
  })

  it('is left out where a note says that messages are not shown', () => {
    const events = [hello, both, results, user('Well?'), assistant('Yes.'), truncated(3, 4)]
    expect(script(events)[1]).toBe('assistant: use a')
  })

  it('is left out where the next reply does not begin with its result, and all thinking since', () => {
    const next = assistant([thinking('u'), text('So.'), found('s'), toolUse('b')])
    expect(script([hello, both, results, next, user([toolResult('b')])])).toEqual([
      'user: Hello.',
      'assistant: use a',
      'user: result a',
      'assistant: So. | use b',
      'user: result b',
      'model',
    ])
  })

  it('waits on while its program calls tools', () => {
    const program = [
      hello,
      assistant([use('s'), programmed('a', 's')]),
      results,
      assistant([thinking('u'), programmed('b', 's')]),
      user([toolResult('b')]),
    ]
    const lines = ['user: Hello.', 'assistant: server_use s | use a', 'user: result a']
    const round = ['assistant: thinking u | use b', 'user: result b']
    expect(script(program)).toEqual([...lines, ...round, 'model'])
    const ends = assistant([found('s'), text('So.')])
    expect(script([...program, ends])).toEqual([
      ...lines,
      ...round,
      'assistant: server_result s | So.',
      'user',
    ])
    expect(script([...program, user('Stop.')])).toEqual([
      'user: Hello.',
      'assistant: use a',
      'user: result a',
      'assistant: use b',
      'user: result b | Stop.',
      'model',
    ])
  })

  it('waits also where the call has an error result, as nobody answered it', () => {
    expect(script([hello, both]).slice(1)).toEqual([open[1], 'user: error a', 'model'])
  })

  it('gets no other result where its own is of a kind that no request may hold', () => {
    const other: Block = { type: 'advisor_tool_result', tool_use_id: 's', content: [] }
    expect(script([hello, assistant([use('s'), other, toolUse('a')]), results])[1]).toBe('assistant: use a')
  })

  it('is a call that no cut may part from its result, once one message does not hold both', () => {
    const next = assistant([use('q'), found('q'), found('s'), text('So.')])
    const calls = (...events: readonly Event[]): unknown => toolCalls(effective(logOf(...events)))
    expect(calls(hello, both, results)).toEqual([
      { id: 'a', use: 1, result: 2 },
      { id: 's', use: 1 },
    ])
    expect(calls(hello, both, results, assistant([found('s'), text('So.')]))).toContainEqual({
      id: 's',
      use: 1,
      result: 3,
    })
    expect(calls(hello, both, results, next)).toEqual([{ id: 'a', use: 1, result: 2 }])
    expect(calls(hello, both, results, user('Well?'))).toEqual([{ id: 'a', use: 1, result: 2 }])
  })

  it('keeps the breakpoint of a summary only where that is what it was placed on', () => {
    const summary = [{ role: 'assistant' as const, content: [text('So far.'), use('s')] }]
    const events = [hello, assistant('Yes.'), condensed(0, 1, summary), user('Go on.')]
    const { messages } = render(effective(logOf(...events)), { cache: '5m' })
    const marked = messages.flatMap(({ content }) => content.filter((block) => 'cache_control' in block))
    expect(marked.map((block) => block['text'])).toEqual([fillers.noBeginning, 'Go on.'])
  })

  it('is forgotten with everything that a compaction stands for', () => {
    const block = { type: 'compaction' as const, content: 'All of it.' }
    const events = [hello, both, results, compacted(0, 2, [{ role: 'assistant', content: [block] }])]
    expect(script([...events, user('Well?')])).toEqual(['assistant: compaction ', 'user: Well?', 'model'])
  })
})

describe('a reply that was recorded block by block', () => {
  const part = (block: Block): Event => assistant([block], { requestId: 'r' })

  it('is one message, with its thinking', () => {
    const parts = [thinking('t'), thinking('u'), text('I look.'), thinking('v'), toolUse('a')].map(part)
    const events = [hello, ...parts, user([toolResult('a')])]
    expect(script(events)[1]).toBe('assistant: thinking t | thinking u | I look. | thinking v | use a')
    expect(repairsOf(...events)).toEqual([
      'roles-merged 2',
      'roles-merged 3',
      'roles-merged 4',
      'roles-merged 5',
    ])
  })

  it('shows its thinking along with what follows, as no message ends with it', () => {
    const begun = [hello, part(thinking('t'))]
    const repairs = ['thinking-dropped 1', 'message-dropped 1']
    expect(script(begun)).toEqual(['user: Hello.', 'model'])
    expect(repairsOf(...begun)).toEqual(repairs)
    expect(script([...begun, part(text(' ')), part(text('So.'))])[1]).toBe('assistant: thinking t | So.')
  })

  it.each<readonly [string, Event]>([
    ['the user', user('Stop.')],
    ['another reply', assistant('So.', { requestId: 'q' })],
    ['a reply without a name', assistant('So.')],
    ['a message that shows nothing', user(' ')],
  ])('loses the thinking at its end where %s comes next', (_, next) => {
    const events = [hello, part(text('Yes.')), part(thinking('t')), next, part(text('More.'))]
    expect(script(events).join()).not.toContain('thinking')
    expect(repairsOf(...events)).toContain('thinking-dropped 2')
    expect(repairsOf(...events)).toContain('message-dropped 2')
  })

  it('loses all of its thinking where something before it has changed', () => {
    const events = [hello, assistant('Yes.'), user('Go on.'), part(thinking('t')), part(text('So.'))]
    expect(script([...events, condensed(0, 1)]).at(-2)).toBe('assistant: So.')
    expect(repairsOf(...events, condensed(0, 1)).slice(-2)).toEqual([
      'thinking-dropped 3',
      'message-dropped 3',
    ])
  })
})

const late = '[Result of tool call a, which came late:]'

describe('calls in parallel that were recorded one by one', () => {
  const [a, b, c] = [assistant([toolUse('a')]), assistant([toolUse('b')]), assistant([toolUse('c')])]
  const [ra, rb, rc] = [user([toolResult('a')]), user([toolResult('b')]), user([toolResult('c')])]

  it.each<readonly [string, readonly Event[], readonly string[], readonly string[]]>([
    [
      'are one message, and every result is real',
      [a, b, ra, rb],
      ['use a | use b', 'result a | result b'],
      [],
    ],
    ['so are three', [a, b, c, rc, ra, rb], ['use a | use b | use c', 'result c | result a | result b'], []],
    [
      'so are they with a text between them',
      [a, assistant('And:'), b, ra, rb],
      ['use a | And: | use b', 'result a | result b'],
      [],
    ],
    [
      'one that nobody answers has an error result',
      [a, b, rb, user('Well?')],
      ['use a | use b', 'result b | error a | Well?'],
      ['call-answered 1'],
    ],
    [
      'one that comes between results is one of them once its own, or a late one, has come',
      [a, b, ra, c, rb, rc],
      ['use a | use b | use c', 'result a | result b | result c'],
      [],
    ],
    [
      'a result that comes behind the next reply joins that to the calls',
      [a, assistant('So?'), ra],
      ['use a | So?', 'result a'],
      [],
    ],
  ])('%s', (_, events, request, repairs) => {
    const lines = script([hello, ...events])
    expect(lines.slice(1, -1).map((line) => line.replace(/^\w+: /, ''))).toEqual(request)
    expect(lines.at(-1)).toBe('model')
    expect(repairsOf(hello, ...events).filter((repair) => !repair.startsWith('roles-merged'))).toEqual(
      repairs,
    )
  })

  it('are open together until they are answered', () => {
    expect(toolCalls(effective(logOf(hello, a, b)))).toEqual([
      { id: 'a', use: 1 },
      { id: 'b', use: 2 },
    ])
    expect(script([hello, a, b]).slice(1)).toEqual([
      'assistant: use a | use b',
      'user: error a | error b',
      'model',
    ])
  })

  it('are over with the reply that makes none: it may be the answer to error results', () => {
    expect(script([hello, a, assistant('It fails.')]).slice(1)).toEqual([
      'assistant: use a',
      'user: error a',
      'assistant: It fails.',
      'user',
    ])
    expect(toolCalls(effective(logOf(hello, a, assistant('It fails.'))))).toEqual([])
    expect(repairsOf(hello, a, assistant('It fails.'))).toEqual(['call-answered 1'])
    const events = [hello, a, assistant('It fails.'), user('Well?'), ra]
    expect(script(events).slice(-3)).toEqual([
      'assistant: It fails.',
      `user: Well? | ${late} | done`,
      'model',
    ])
  })

  it('are separate if a receipt says that the later one was the answer to an error result', () => {
    const later = assistant([toolUse('b')], asked(1))
    expect(script([hello, a, later, ra, rb]).slice(1)).toEqual([
      'assistant: use a',
      'user: error a',
      'assistant: use b',
      `user: result b | ${late} | done`,
      'model',
    ])
  })

  it('are separate once the next round has begun', () => {
    const events = [hello, a, b, rb, c, rc, assistant([toolUse('d')]), ra]
    expect(script(events).slice(1, -1)).toEqual([
      'assistant: use a | use b',
      'user: result b | error a',
      'assistant: use c',
      'user: result c',
      'assistant: use d',
      'user: error d',
    ])
  })

  it('whose late results come one by one beside open calls do not close the round', () => {
    const next = assistant([toolUse('d'), toolUse('e')])
    const after = (...events: readonly Event[]): readonly string[] =>
      script([hello, a, b, user('Well?'), next, ...events]).slice(4, -1)
    const [rd, re] = [user([toolResult('d')]), user([toolResult('e')])]
    expect(after(rd, ra, re, rb)).toEqual([
      `user: result d | result e | ${late} | done | ${late.replace(' a,', ' b,')} | done`,
    ])
    expect(after(rd, ra)).toEqual(['user: result d | error e'])
    expect(after(rd, ra, assistant('So.'), user('Well?'), re)).toEqual([
      'user: result d | error e',
      'assistant: So.',
      `user: ${late} | done | Well? | ${late.replace(' a,', ' e,')} | done`,
    ])
    const fails = user([{ ...toolResult('a'), is_error: true, content: '' }])
    expect(after(rd, re, fails, ra)).toEqual([
      'user: result d | result e | [Error of tool call a, which came late, without content.]',
    ])
  })

  it('that have an error result already are told the real one, once, if it says something else', () => {
    const fails = user([{ ...toolResult('a'), is_error: true, content: 'Interrupted.' }])
    const after = (...events: readonly Event[]): string | undefined =>
      script([hello, a, fails, assistant('Hm.'), ...events]).at(-2)
    expect(after(ra)).toBe(`user: ${late} | done`)
    expect(after(ra, ra)).toBe(`user: ${late} | done`)
    expect(after(fails)).toBe('assistant: Hm.')
    expect(script([hello, a, ra, assistant('Hm.'), fails]).at(-2)).toBe('assistant: Hm.')
    expect(repairsOf(hello, a, ra, assistant('Hm.'), fails)).toContain('result-dropped 4')
  })

  it('have no thinking where more than one message has some, if they are not parts of one reply', () => {
    const first = assistant([thinking('t'), toolUse('a')], { requestId: 'r' })
    const parts = (requestId: string) => assistant([thinking('u'), toolUse('b')], { requestId })
    expect(script([hello, first, parts('r'), ra, rb])[1]).toBe(
      'assistant: thinking t | use a | thinking u | use b',
    )
    expect(script([hello, first, parts('q'), ra, rb])[1]).toBe('assistant: use a | use b')
    expect(script([hello, first, b, ra, rb])[1]).toBe('assistant: thinking t | use a | use b')
    const joined = [hello, first, b, ra, assistant([thinking('u'), toolUse('c')]), rb, rc]
    expect(script(joined)[1]).toBe('assistant: use a | use b | use c')
    expect(repairsOf(...joined).filter((repair) => repair.startsWith('thinking'))).toEqual([
      'thinking-dropped 1',
      'thinking-dropped 4',
    ])
  })

  it('keep the ids that they are sent under', () => {
    const events = [hello, a, ra, a, assistant('So?'), ra]
    expect(script(events).slice(3, -1)).toEqual(['assistant: use a_2 | So?', 'user: result a_2'])
  })
})
