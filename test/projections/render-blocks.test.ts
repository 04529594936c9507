import { unknownBlock } from '../../src/events/blocks.ts'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import { fillers } from '../../src/projections/render/page.ts'
import type { RenderResult } from '../../src/projections/render/render.ts'
import { blocksIn, documentedTypes, serverResults } from '../support/block-table.ts'
import { assistant, said, text, thinking, toolResult, toolUse, user } from '../support/log.ts'
import { hello, renderLog } from '../support/render-log.ts'

const rendered = (...events: readonly Event[]): RenderResult => renderLog(events)
const ofType = (type: string): Block => unknownBlock({ type })
const withSource = (type: string): Block => unknownBlock({ type, source: { type: 'url' } })

/** Which of these types stay in the request, where the message is of that role. */
const staying = (
  types: readonly string[],
  message: (content: readonly Block[]) => Event,
): readonly string[] =>
  types.filter((type) => {
    const { messages } = rendered(hello, assistant('Yes.'), message([ofType(type), text('.')]))
    return messages.slice(1).some(({ content }) => content.some((block) => block.type === type))
  })

/** Types of blocks that may stand alone, and one that nobody knows. */
const all = [
  ...documentedTypes.filter((type) => !/^(text|compaction|.*tool_use|.*tool_result)$/.test(type)),
  'block_of_the_future',
]
const allowed = (place: string): readonly string[] => all.filter((type) => blocksIn(place).includes(type))

describe('a block stays where the API takes it, and nowhere else', () => {
  it('in a message of the user', () => {
    expect(allowed('user')).toHaveLength(4)
    expect(staying(all, user)).toEqual(allowed('user'))
  })

  it('in a message of the assistant', () => {
    // Thinking is taken with its signature only.
    expect(['thinking', ...staying(all, assistant)]).toEqual(allowed('assistant'))
  })

  it('in a system message: text', () => {
    expect(staying(all, (content) => said('system', content))).toEqual([])
  })

  it('in a result', () => {
    const { messages } = rendered(
      hello,
      assistant([toolUse('a')]),
      user([toolResult('a', [...all, 'tool_use', 'tool_result', 'compaction'].map(withSource))]),
    )
    const [result] = messages[2]?.content ?? []
    expect(allowed('tool_result')).toHaveLength(4)
    expect(result?.['content']).toEqual(allowed('tool_result').map(withSource))
  })

  it('in a result, with the fields that it needs: nobody has checked them when it was stored', () => {
    const { messages, repairs } = rendered(
      hello,
      assistant([toolUse('a')]),
      user([toolResult('a', [{ type: 'text' }, ofType('image'), null, text('whole')])]),
    )
    expect(messages[2]?.content).toEqual([toolResult('a', [text('whole')])])
    expect(repairs.map(({ kind }) => kind)).toEqual(['block-dropped', 'block-dropped', 'block-dropped'])
  })

  it('in a result, a blank one left out wherever it stands', () => {
    const round = (content: readonly Block[]): RenderResult =>
      rendered(hello, assistant([toolUse('a')]), user([toolResult('a', content)]))
    expect(round([text('ok'), text('')]).messages[2]?.content).toEqual([toolResult('a', [text('ok')])])
  })

  it('and a text of the assistant keeps its citations', () => {
    const cited = { ...text('one'), citations: [] }
    expect(rendered(hello, assistant([cited])).messages[1]?.content).toEqual([cited])
  })
})

describe('a server tool use and its result', () => {
  const use = (id: string, type = 'server_tool_use'): Block =>
    unknownBlock({ type, id, name: 'web_search', input: {} })
  const result = (id: string, type = 'web_search_tool_result'): Block =>
    unknownBlock({ type, tool_use_id: id, content: [] })

  it.each(serverResults)('stay, of any kind: %s', (type) => {
    const pair = [
      use('s', type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'),
      result('s', type),
    ]
    const { messages, repairs } = rendered(hello, assistant(pair))
    expect(messages[1]?.content).toEqual(pair)
    expect(repairs).toEqual([])
  })

  it.each<readonly [string, readonly Block[], readonly Block[]]>([
    ['a result before its use goes, and the use with it', [result('s'), use('s')], []],
    ['a second result goes', [use('s'), result('s'), result('s')], [use('s'), result('s')]],
    ['each result has its own use', [use('s'), use('t'), result('t')], [use('t'), result('t')]],
    [
      'pairs may cross',
      [use('s'), use('t'), result('s'), result('t')],
      [use('s'), use('t'), result('s'), result('t')],
    ],
  ])('%s', (_, content, kept) => {
    const { messages } = rendered(hello, assistant([...content, text('.')]), user('And?'))
    expect(messages[1]?.content).toEqual([...kept, text('.')])
  })

  it('go where an earlier pair, or a call, has the same id', () => {
    const again = assistant([use('s'), result('s'), text('.')])
    const round = [assistant([toolUse('s')]), user([toolResult('s')])]
    for (const events of [[again, user('And?')], round]) {
      const { messages } = rendered(hello, ...events, again)
      expect(messages.at(-1)?.content).toEqual([text('.')])
    }
  })
})

describe('thinking', () => {
  it.each<readonly [string, Block]>([
    ['a signature of no characters', { type: 'thinking', thinking: 'hm', signature: '' }],
    ['a cache breakpoint', { ...thinking('s'), cache_control: { type: 'ephemeral' } }],
    ['half a character', { type: 'redacted_thinking', data: '\ud83d' }],
  ])('with %s goes, and all of its message with it', (_, broken) => {
    const { messages, repairs } = rendered(
      hello,
      assistant([thinking('s'), text('one'), broken, text('two')]),
    )
    expect(messages[1]?.content).toEqual([text('one'), text('two')])
    expect(repairs.map(({ kind }) => kind)).toEqual(['thinking-dropped'])
  })

  it('stays where only a text beside it has a cache breakpoint', () => {
    const content = [thinking('s'), { ...text('one'), cache_control: { type: 'ephemeral' } }]
    expect(rendered(hello, assistant(content)).messages[1]?.content).toEqual(content)
  })
})

it('the texts that render puts in never change: they are part of every cached prompt', () => {
  expect(fillers).toEqual({
    noResult: 'No result was recorded for this call.',
    noBeginning: '(The beginning of this conversation is not shown.)',
    noReply: '(No reply.)',
  })
})

it('an image without data is left out, and said', () => {
  const image: Block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } }
  for (const events of [
    [user([text('See.'), image])],
    [hello, assistant([toolUse('a')]), user([toolResult('a', [text('See.'), image])])],
  ]) {
    const { messages, repairs } = rendered(...events)
    expect(JSON.stringify(messages)).not.toContain('"image"')
    expect(repairs).toMatchObject([{ kind: 'block-dropped' }])
  }
})
