import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { fillers } from '../../src/projections/render/page.ts'
import type { RenderOptions } from '../../src/projections/render/render.ts'
import {
  assistant,
  compacted,
  condensed,
  configured,
  restored,
  rewound,
  said,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { hello, renderLog } from '../support/render-log.ts'

const rendered = renderLog

/** A request, one message a line: `user: text | tool_result a`. */
const script = (events: readonly Event[], options: RenderOptions = {}): readonly string[] =>
  rendered(events, options).messages.map(({ role, content }) => `${role}: ${content.map(short).join(' | ')}`)

const short = (block: Block): string => {
  const names = [block['text'], block['id'], block['tool_use_id'], block['signature']]
  const name = names.find((value) => typeof value === 'string')
  return block.type === 'text' ? String(name) : [block.type, name].filter(Boolean).join(' ')
}

const repairsOf = (events: readonly Event[], options: RenderOptions = {}): readonly string[] =>
  rendered(events, options).repairs.map(({ kind, position }) => `${kind} ${position}`)

const marked = (value: string, ttl: string): Block => ({
  ...text(value),
  cache_control: { type: 'ephemeral', ttl },
})
const server: Block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const found: Block = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }

interface Rule {
  readonly rule: string
  readonly events: readonly Event[]
  readonly request: readonly string[]
  readonly repairs: readonly string[]
  readonly options?: RenderOptions
}

const rules: readonly Rule[] = [
  {
    rule: 'a good history is rendered as it is stored',
    events: [hello, assistant([thinking('s'), text('Let me see.'), toolUse('a')]), user([toolResult('a')])],
    request: ['user: Hello.', 'assistant: thinking s | Let me see. | tool_use a', 'user: tool_result a'],
    repairs: [],
  },
  {
    rule: 'a call that nobody answered gets an error result before what comes next',
    events: [hello, assistant([toolUse('a')]), user('Never mind.')],
    request: ['user: Hello.', 'assistant: tool_use a', 'user: tool_result a | Never mind.'],
    repairs: ['call-answered 1', 'roles-merged 2'],
  },
  {
    rule: 'a late result is text: the request that went without it must not change',
    events: [hello, assistant([toolUse('a')]), user('Well?'), user([toolResult('a')])],
    request: [
      'user: Hello.',
      'assistant: tool_use a',
      'user: tool_result a | Well? | [Result of tool call a, which came late:] | done',
    ],
    repairs: ['call-answered 1', 'roles-merged 2', 'result-as-text 3'],
  },
  {
    rule: 'an assistant message after an open call, and what the user says, close the round',
    events: [hello, assistant([toolUse('a')]), assistant('So?'), user('Well?'), user([toolResult('a')])],
    request: [
      'user: Hello.',
      'assistant: tool_use a',
      'user: tool_result a',
      'assistant: So?',
      'user: Well? | [Result of tool call a, which came late:] | done',
    ],
    repairs: ['call-answered 1', 'result-as-text 4'],
  },
  {
    rule: 'parts of one reply are one message, and the round stays open',
    events: [
      hello,
      assistant([toolUse('a')], { requestId: 'r' }),
      assistant([toolUse('b')], { requestId: 'r' }),
      user([toolResult('b'), toolResult('a')]),
    ],
    request: ['user: Hello.', 'assistant: tool_use a | tool_use b', 'user: tool_result b | tool_result a'],
    repairs: ['roles-merged 2'],
  },
  {
    rule: 'a part of a reply that comes after a result of an earlier part begins a new round',
    events: [
      hello,
      assistant([toolUse('a'), toolUse('b')], { requestId: 'r' }),
      user([toolResult('a')]),
      assistant([toolUse('c')], { requestId: 'r' }),
    ],
    request: [
      'user: Hello.',
      'assistant: tool_use a | tool_use b',
      'user: tool_result a | tool_result b',
      'assistant: tool_use c',
      'user: tool_result c',
    ],
    repairs: ['call-answered 1', 'call-answered 3'],
  },
  {
    rule: 'results come first in their message',
    events: [hello, assistant([toolUse('a')]), user([text('Here:'), toolResult('a')])],
    request: ['user: Hello.', 'assistant: tool_use a', 'user: tool_result a | Here:'],
    repairs: ['results-moved 2'],
  },
  {
    rule: 'a second result of a call is dropped',
    events: [hello, assistant([toolUse('a')]), user([toolResult('a'), toolResult('a')])],
    request: ['user: Hello.', 'assistant: tool_use a', 'user: tool_result a'],
    repairs: ['result-dropped 2'],
  },
  {
    rule: 'an id that is taken or has other characters is replaced, in the call and in its result',
    events: [
      hello,
      assistant([toolUse('a'), toolUse('a'), toolUse('b c')]),
      user([toolResult('a'), toolResult('a'), toolResult('b c')]),
    ],
    request: [
      'user: Hello.',
      'assistant: tool_use a | tool_use a_2 | tool_use b_c',
      'user: tool_result a | tool_result a_2 | tool_result b_c',
    ],
    repairs: ['id-replaced 1', 'id-replaced 1', 'id-replaced 2', 'id-replaced 2'],
  },
  {
    rule: 'a server tool use and its result stand in one turn or not at all',
    events: [
      hello,
      assistant([server, text('one')]),
      assistant([found, text('two')]),
      user('And?'),
      assistant([{ ...server, id: 't' }, text('three')]),
      user('And?'),
      assistant([{ ...found, tool_use_id: 't' }, text('four')]),
    ],
    request: [
      'user: Hello.',
      'assistant: server_tool_use s | one | web_search_tool_result s | two',
      'user: And?',
      'assistant: three',
      'user: And?',
      'assistant: four',
    ],
    repairs: ['roles-merged 2', 'server-tool-dropped 4', 'server-tool-dropped 6'],
  },
  {
    rule: 'thinking that ends its message, or has no signature, goes',
    events: [
      hello,
      assistant([text('one'), thinking('s')]),
      assistant([{ type: 'thinking', thinking: 'hm' }, text('two')]),
      assistant([{ ...thinking('t'), cache_control: { type: 'ephemeral' } }, text('three')]),
    ],
    request: ['user: Hello.', 'assistant: one | two | three'],
    repairs: [
      'thinking-dropped 1',
      'thinking-dropped 2',
      'roles-merged 2',
      'thinking-dropped 3',
      'roles-merged 3',
    ],
  },
  {
    rule: 'thinking goes when a marker covers something before it, and comes back when the marker is rewound away',
    events: [
      hello,
      assistant('one'),
      user('two'),
      assistant([thinking('s'), text('three')]),
      condensed(1, 1),
      rewound(3),
      truncated(1, 1),
    ],
    request: ['user: Hello. | [1 earlier message is not shown.] | two', 'assistant: three'],
    repairs: ['roles-merged 2', 'thinking-dropped 3'],
  },
  {
    rule: 'thinking from before a marker and after its restore is kept, that between the two is not',
    events: [
      hello,
      assistant([thinking('one'), text('1')]),
      condensed(0, 0),
      assistant([thinking('two'), text('2')]),
      restored(2),
      assistant([thinking('three'), text('3')]),
    ],
    request: ['user: Hello.', 'assistant: thinking one | 1 | 2 | thinking three | 3'],
    repairs: ['thinking-dropped 3', 'roles-merged 3', 'roles-merged 5'],
  },
  {
    rule: 'thinking goes when the system prompt has changed since, and stays when only parameters have',
    events: [
      configured({ system: 'A.' }),
      hello,
      assistant([thinking('one'), text('1')]),
      configured({ system: 'B.' }),
      user('?'),
      assistant([thinking('two'), text('2')]),
      configured({ system: 'B.', parameters: {} }),
    ],
    request: ['user: Hello.', 'assistant: 1', 'user: ?', 'assistant: thinking two | 2'],
    repairs: ['thinking-dropped 2'],
  },
  {
    rule: 'blank texts go, also inside results',
    events: [
      hello,
      assistant([text(' '), toolUse('a')]),
      user([toolResult('a', [text(''), text('ok')]), text('\n')]),
    ],
    request: ['user: Hello.', 'assistant: tool_use a', 'user: tool_result a'],
    repairs: ['blank-dropped 1', 'blank-dropped 2', 'blank-dropped 2'],
  },
  {
    rule: 'blocks go that their place does not allow',
    events: [
      user([text('Hello.'), thinking('s'), { type: 'block_of_the_future' }]),
      assistant([text('one'), { type: 'document', source: { type: 'url' } }]),
    ],
    request: ['user: Hello.', 'assistant: one'],
    repairs: ['block-dropped 0', 'block-dropped 0', 'block-dropped 1'],
  },
  {
    rule: 'a history that begins with the assistant gets a beginning',
    events: [assistant('one')],
    request: [`user: ${fillers.noBeginning}`, 'assistant: one'],
    repairs: ['message-inserted 0'],
  },
  {
    rule: 'a system message is shown as text of the user',
    events: [hello, said('system', [{ ...text('Be brief.'), citations: [] }]), assistant('one')],
    request: ['user: Hello. | Be brief.', 'assistant: one'],
    repairs: ['system-folded 1', 'field-dropped 1', 'roles-merged 1'],
  },
  {
    rule: 'a system message stands where the model takes it: after the user, before the assistant',
    events: [
      said('system', 'One.'),
      hello,
      said('system', 'Two.'),
      user('And?'),
      assistant([toolUse('a')]),
      said('system', 'Three.'),
    ],
    request: [
      'user: One. | Hello.',
      'system: Two.',
      `assistant: ${fillers.noReply}`,
      'user: And?',
      'assistant: tool_use a',
      'user: tool_result a | Three.',
    ],
    repairs: [
      'system-folded 0',
      'roles-merged 1',
      'message-inserted 3',
      'system-folded 5',
      'roles-merged 5',
      'call-answered 4',
    ],
    options: { systemMessages: true },
  },
  {
    rule: 'a compaction stands for all before it',
    events: [
      hello,
      assistant([toolUse('a')]),
      compacted(1, 1, [{ role: 'assistant', content: [{ type: 'compaction', content: 'c' }] }]),
      user('And?'),
    ],
    request: ['assistant: compaction', 'user: And?'],
    repairs: ['compaction-applied 2'],
  },
  {
    rule: 'a compaction that failed, or stands inside a message, goes',
    events: [
      hello,
      assistant([text('one'), { type: 'compaction', content: null }, { type: 'compaction', content: 'c' }]),
    ],
    request: ['user: Hello.', 'assistant: one'],
    repairs: ['compaction-applied 1', 'compaction-applied 1'],
  },
  {
    rule: 'a prefill ends without white space',
    events: [hello, assistant('one \n')],
    request: ['user: Hello.', 'assistant: one'],
    repairs: ['whitespace-trimmed 1'],
    options: { prefill: true },
  },
  {
    rule: 'a truncation is a note of the user',
    events: [hello, assistant('one'), user('two'), assistant('three'), truncated(1, 2)],
    request: ['user: Hello. | [2 earlier messages are not shown.]', 'assistant: three'],
    repairs: [],
  },
  {
    rule: 'a truncation is nothing where notes are not wanted',
    events: [hello, assistant('one'), truncated(1, 1), user('two')],
    request: ['user: Hello. | two'],
    repairs: ['roles-merged 3'],
    options: { truncationNotes: false },
  },
]

describe('render', () => {
  it.each(rules.map((rule) => [rule.rule, rule] as const))(
    '%s',
    (_, { events, request, repairs, options }) => {
      expect(script(events, options)).toEqual(request)
      expect(repairsOf(events, options).toSorted()).toEqual(repairs.toSorted())
    },
  )

  it('puts an input that is no object into one', () => {
    const { messages } = rendered([hello, assistant([toolUse('a', 'rm -rf')])])
    expect(messages[1]?.content[0]?.['input']).toEqual({ input: 'rm -rf' })
  })

  it('replaces lone surrogates in texts, inputs, results and the system prompt, and drops thinking that has one', () => {
    const events = [
      configured({ system: 'half \ud83d' }),
      hello,
      assistant([thinking('s', '\ud83d'), toolUse('a', { '\udc00': ['\ud83d'] })]),
      user([toolResult('a', '\ud83d')]),
    ]
    const { system, messages } = rendered(events)
    expect(system).toBe('half \ufffd')
    expect(messages[1]?.content).toEqual([toolUse('a', { '\ufffd': ['\ufffd'] })])
    expect(messages[2]?.content).toEqual([toolResult('a', '\ufffd')])
    expect(repairsOf(events)).toEqual([
      'surrogate-replaced 0',
      'surrogate-replaced 2',
      'thinking-dropped 2',
      'surrogate-replaced 3',
    ])
  })

  it('keeps a __proto__ key of an input as data, also beside a lone surrogate', () => {
    const input: unknown = JSON.parse('{"__proto__":{"polluted":1},"t":"\\ud83d"}')
    const { messages } = rendered([hello, assistant([toolUse('a', input)])])
    expect(JSON.stringify(messages[1]?.content[0]?.['input'])).toBe(
      '{"__proto__":{"polluted":1},"t":"\ufffd"}',
    )
  })

  it('says so when a result has no content left', () => {
    for (const content of ['', ' ', [], [text(' ')]]) {
      const events = [hello, assistant([toolUse('a')]), user([toolResult('a', content)])]
      expect(rendered(events).messages[2]?.content).toEqual([{ type: 'tool_result', tool_use_id: 'a' }])
      expect(repairsOf(events)).toContain('blank-dropped 2')
    }
  })

  it('keeps the last four cache breakpoints, and none that lives longer than one before it', () => {
    const events = [user(['a', 'b', 'c', 'd', 'e'].map((value) => marked(value, '5m')))]
    expect(rendered(events).messages[0]?.content.map((block) => 'cache_control' in block)).toEqual([
      false,
      true,
      true,
      true,
      true,
    ])
    const mixed = [user([marked('a', '1h'), marked('b', '5m'), marked('c', '1h')])]
    expect(rendered(mixed).messages[0]?.content.map((block) => 'cache_control' in block)).toEqual([
      true,
      true,
      false,
    ])
    expect(repairsOf(mixed)).toEqual(['cache-control-dropped 0'])
  })

  it('leaves a blank system prompt out', () => {
    expect(rendered([configured({ system: ' ' }), hello]).system).toBeUndefined()
    expect(rendered([configured({ system: [text('')] }), hello]).system).toBeUndefined()
  })
})

describe('whose turn it is', () => {
  it.each<readonly [string, readonly Event[], RenderOptions, string]>([
    ['nobody, before anything is said', [], {}, 'beginning'],
    ['nobody, where all there is is a configuration', [configured({ system: 'Be brief.' })], {}, 'beginning'],
    ['nobody, where only blank texts were said', [user(' '), assistant('\n')], {}, 'beginning'],
    ['nobody, where nothing can be shown', [user([toolResult('a')]), said('system', '')], {}, 'beginning'],
    ['nobody, where all is truncated', [hello, assistant('one'), truncated(0, 1)], {}, 'beginning'],
    ['nobody, for a prefill of nothing', [assistant(' ')], { prefill: true }, 'beginning'],
    [
      'the model, once the user speaks after a truncation',
      [hello, truncated(0, 0), user('Yes.')],
      {},
      'model',
    ],
    ['the user, after a finished answer', [hello, assistant('one')], {}, 'user'],
    ['the model, after the user', [hello], {}, 'model'],
    ['the model, after a call that nobody answered', [hello, assistant([toolUse('a')])], {}, 'model'],
    ['the model, after a paused turn', [hello, assistant('one', { stopReason: 'pause_turn' })], {}, 'model'],
    ['the model, after a prefill', [hello, assistant('one')], { prefill: true }, 'model'],
    [
      'the user, where a paused turn of which nothing is shown follows a finished answer',
      [hello, assistant('one'), assistant([], { stopReason: 'pause_turn' })],
      {},
      'user',
    ],
  ])('%s', (_, events, options, awaits) => {
    expect(rendered(events, options).awaits).toBe(awaits)
    expect(rendered(events, options).messages.length > 0).toBe(awaits !== 'beginning')
  })
})
