import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { fillers } from '../../src/projections/render/page.ts'
import { type RenderOptions } from '../../src/projections/render/render.ts'
import {
  assistant,
  compacted,
  configured,
  said,
  text,
  thinking,
  toolResult,
  toolUse,
  user,
} from '../support/log.ts'
import { renderLog } from '../support/render-log.ts'

// What an auditor reads: every departure of a request from what is stored, in words.

const hello = user('Hello.')
const document: Block = { type: 'document', source: { type: 'url' } }
const server: Block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const found: Block = { type: 'web_search_tool_result', tool_use_id: 't', content: [] }
const compaction: Block = { type: 'compaction', content: 'c' }
const marked = { ...text('a'), cache_control: { type: 'ephemeral' } }

const repairsOf = (events: readonly Event[], options: RenderOptions = {}): readonly string[] =>
  renderLog(events, options).repairs.map(({ kind, position, detail }) => `${kind} ${position}: ${detail}`)

describe('a repair says where it was made, and what was done', () => {
  it.each<readonly [string, readonly Event[], readonly string[]]>([
    [
      'a block is where none of its type can stand',
      [user([text('Hello.'), thinking('s')]), assistant([text('one'), document])],
      [
        'block-dropped 0: thinking cannot stand in user content',
        'block-dropped 1: document cannot stand in assistant content',
      ],
    ],
    [
      'a block is where no result can have it',
      [hello, assistant([toolUse('a')]), user([toolResult('a', [text('ok'), toolUse('b')])])],
      ['block-dropped 2: tool_use cannot stand in result content'],
    ],
    [
      'half a character',
      [configured({ system: '\ud83d' }), user('half \ud83d')],
      [
        'surrogate-replaced 0: a lone surrogate in the system prompt or a tool',
        'surrogate-replaced 1: a lone surrogate in a text block',
      ],
    ],
    [
      'nothing to see',
      [user([text('Hello.'), text(' ')]), assistant([toolUse('a')]), user([toolResult('a', ' ')])],
      [
        'blank-dropped 0: a text without a visible character',
        'blank-dropped 2: the content of a tool result without a visible character',
      ],
    ],
    [
      'a field that only an answer may have',
      [user([{ ...text('Hello.'), citations: [] }])],
      ['field-dropped 0: citations of a user text'],
    ],
    [
      'too many cache breakpoints',
      [user(Array.from({ length: 5 }, () => marked))],
      ['cache-control-dropped 0: a request holds four cache breakpoints at most, longer-lived ones first'],
    ],
    [
      'a server tool use without a result, and a result without its use',
      [hello, assistant([text('one'), server, found]), user('Well?')],
      [
        'server-tool-dropped 1: web_search_tool_result t stands alone',
        'server-tool-dropped 1: server_tool_use s stands alone',
      ],
    ],
    [
      'thinking under another system prompt',
      [hello, assistant([thinking('s'), text('one')]), configured({ system: 'B.' })],
      ['thinking-dropped 1: what comes before it has changed since it was produced'],
    ],
    [
      'thinking without a signature, and thinking at the end',
      [
        hello,
        assistant([{ type: 'thinking', thinking: '' }, text('one')]),
        user('And?'),
        assistant([text('two'), thinking('s')]),
      ],
      ['thinking-dropped 1: it has no valid signature', 'thinking-dropped 3: it ends its message'],
    ],
    ['the same role twice', [hello, user('Anyone?')], ['roles-merged 1: joined to the user message of 0']],
    [
      'results of several rounds that a late result makes one',
      [
        hello,
        assistant([toolUse('a'), toolUse('b')]),
        user([toolResult('a')]),
        assistant([toolUse('c')]),
        user([toolResult('c')]),
        user([toolResult('b')]),
      ],
      [
        'roles-merged 3: joined to the assistant message of 1',
        'roles-merged 4: joined to the user message of 2',
        'roles-merged 5: joined to the user message of 2',
      ],
    ],
    [
      'a call that nobody answered',
      [hello, assistant([toolUse('a')])],
      ['call-answered 1: tool_use a has no result; an error result stands for it'],
    ],
    [
      'a result that nobody asked for',
      [hello, user([toolResult('a')])],
      [
        'result-dropped 1: tool_result a has no open call before it',
        'message-dropped 1: no block of it remained',
      ],
    ],
    ['no beginning', [assistant('one')], [`message-inserted 0: user: ${fillers.noBeginning}`]],
    [
      'ids that are taken, and other characters',
      [
        hello,
        assistant([toolUse('a b'), toolUse('a b'), toolUse('a_b')]),
        user([toolResult('a b'), toolResult('a b'), toolResult('a_b')]),
      ],
      [
        'id-replaced 1: tool_use a b is sent as a_b',
        'id-replaced 1: tool_use a b is sent as a_b_2',
        'id-replaced 1: tool_use a_b is sent as a_b_3',
        'id-replaced 2: tool_result a b is sent as that of a_b',
        'id-replaced 2: tool_result a b is sent as that of a_b_2',
        'id-replaced 2: tool_result a_b is sent as that of a_b_3',
      ],
    ],
    [
      'an input that is no object, and a result behind a text',
      [hello, assistant([toolUse('a', [])]), user([text('Here:'), toolResult('a')])],
      [
        'input-wrapped 1: the input of tool_use a is no object',
        'results-moved 2: tool results come first in their message',
      ],
    ],
    [
      'a system message in the middle',
      [hello, assistant('one'), said('system', 'Be brief.')],
      ['system-folded 2: a system message is shown as text of a user message'],
    ],
    ['a message without blocks', [hello, user([])], ['message-dropped 1: no block of it remained']],
    [
      'a compaction that failed, and one inside a message',
      [hello, assistant([text('one'), { type: 'compaction', content: '' }]), user([text('two'), compaction])],
      [
        'compaction-applied 1: a failed compaction stands for nothing',
        'compaction-applied 2: a compaction block inside a message is left out',
      ],
    ],
    [
      'a compaction that stands for what is before it',
      [hello, assistant('one'), user('two'), compacted(2, 2, [{ role: 'assistant', content: [compaction] }])],
      ['compaction-applied 3: 2 messages before the compaction are left out'],
    ],
  ])('%s', (_, events, repairs) => {
    expect(repairsOf(events)).toEqual(repairs)
  })

  it('but none where nothing has to be done', () => {
    const call = assistant([toolUse('a')])
    expect(repairsOf([hello, call, user([toolResult('a'), text('And?')])])).toEqual([])
    expect(repairsOf([hello, call, user([{ type: 'tool_result', tool_use_id: 'a' }])])).toEqual([])
  })

  it('a result whose breakpoint is left out, where it has taken the place of an error result before it', () => {
    const breakpoint = { ...toolResult('b'), cache_control: { type: 'ephemeral' } }
    const calls = [assistant([toolUse('a')]), assistant('So?'), assistant([toolUse('b')])]
    expect(
      repairsOf([hello, ...calls, user([breakpoint]), user([toolResult('a')])], { cache: '5m' }),
    ).toEqual([
      'roles-merged 3: joined to the assistant message of 2',
      'roles-merged 2: joined to the assistant message of 1',
      'roles-merged 5: joined to the user message of 4',
      'cache-control-dropped 4: the request has cache breakpoints of its own',
    ])
  })

  it('a prefill that ends in white space', () => {
    expect(repairsOf([hello, assistant('one ')], { prefill: true })).toEqual([
      'whitespace-trimmed 1: a prefill cannot end in white space',
    ])
  })
})
