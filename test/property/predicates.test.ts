import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { Event } from '../../src/events/events.ts'
import type { RenderedMessage } from '../../src/projections/render/renderer.ts'
import { casesOf } from '../support/history-predicates.ts'
import { assistant, condensed, logOf, text, thinking, toolResult, toolUse, user } from '../support/log.ts'
import { moments } from '../support/model.ts'
import { imageOf, png } from '../support/pictures.ts'
import { type Case, predicates, violations } from '../support/predicates.ts'

// A predicate that cannot fail proves nothing: each one is shown a request that breaks it, and only it.

const asks = (...content: readonly Block[]): RenderedMessage => ({ role: 'user', content })
const says = (...content: readonly Block[]): RenderedMessage => ({ role: 'assistant', content })
const hello = asks(text('Hello.'))
const request = (messages: readonly RenderedMessage[], more: Partial<Case['rendered']> = {}): Case => ({
  rendered: { messages, repairs: [], awaits: 'model', ...more },
})
const marked = (value: string, ttl = '5m'): Block => ({
  ...text(value),
  cache_control: { type: 'ephemeral', ttl },
})
const images = (count: number, each: Block): readonly Block[] => Array.from({ length: count }, () => each)
const many = Array.from({ length: 100_001 }, (_, index) => (index % 2 === 0 ? hello : says(text('Yes.'))))
const server: Block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const found: Block = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }

const bad: readonly (readonly [number, string, Case])[] = [
  [0, 'holds half a character', request([asks(text('half \ud83d'))])],
  [1, 'has no message', request([])],
  [1, 'has no message for the user to answer', request([], { awaits: 'user' })],
  [1, 'awaits the beginning of what is there', request([hello], { awaits: 'beginning' })],
  [1, 'begins with the assistant', request([says(text('Yes.')), hello])],
  [1, 'has too many messages', request(many)],
  [2, 'has two user messages in a row', request([hello, hello])],
  [
    2,
    'has a system message between a call and its result',
    request([hello, { role: 'system', content: [text('Be brief.')] }, hello]),
  ],
  [3, 'has a message without a block', request([asks()])],
  [3, 'has a blank text', request([asks(text(' \n'))])],
  [
    3,
    'has a blank text in a tool result',
    request([hello, says(toolUse('a')), asks(toolResult('a', [text('')]))]),
  ],
  [3, 'has a blank system prompt', request([hello], { system: ' ' })],
  [4, 'has thinking of the user', request([asks(thinking('s'), text('Hello.'))])],
  [4, 'has citations on a user text', request([asks({ ...text('Hello.'), citations: [] })])],
  [
    4,
    'has a call inside a result',
    request([hello, says(toolUse('a')), asks(toolResult('a', [toolUse('b')]))]),
  ],
  [5, 'has a call without a result', request([hello, says(toolUse('a')), hello])],
  [5, 'has a call at its end', request([hello, says(toolUse('a'))], { awaits: 'user' })],
  [
    5,
    'has a result behind other content',
    request([hello, says(toolUse('a')), asks(text('Well.'), toolResult('a'))]),
  ],
  [
    5,
    'has two results of one call',
    request([hello, says(toolUse('a')), asks(toolResult('a'), toolResult('a'))]),
  ],
  [6, 'has a result without a call', request([asks(toolResult('a'))])],
  [
    7,
    'has an id twice',
    request([hello, says(toolUse('a')), asks(toolResult('a')), says(toolUse('a')), asks(toolResult('a'))]),
  ],
  [7, 'has an id with a blank', request([hello, says(toolUse('a b')), asks(toolResult('a b'))])],
  [7, 'has an input that is no object', request([hello, says(toolUse('a', [])), asks(toolResult('a'))])],
  [8, 'has a server tool use without its result', request([hello, says(server), hello])],
  [
    8,
    'has a server tool use that waits behind what the user said',
    request([hello, says(server, toolUse('a')), asks(toolResult('a'), text('Well?'))]),
  ],
  [
    8,
    'has a server tool use whose result does not come first',
    request([hello, says(server, toolUse('a')), asks(toolResult('a')), says(text('So.'), found), hello]),
  ],
  [8, 'has a server tool use that waits in a prefill', request([hello, says(server)])],
  [8, 'has a server tool result without its use', request([hello, says(found), hello])],
  [8, 'has a server tool result before its use', request([hello, says(found, server), hello])],
  [9, 'ends with the assistant', request([hello, says(text('Yes.'))])],
  [9, 'awaits the user after the user', request([hello], { awaits: 'user' })],
  [
    9,
    'is a prefill that ends in white space',
    { ...request([hello, says(text('Yes '))]), options: { prefill: true } },
  ],
  [10, 'has a message that ends in thinking', request([hello, says(thinking('s')), hello])],
  [
    13,
    'has a second compaction',
    request([asks({ type: 'compaction', content: 'x' }, { type: 'compaction', content: 'y' })]),
  ],
  [
    14,
    'has five cache breakpoints',
    request([asks(...['a', 'b', 'c', 'd', 'e'].map((value) => marked(value)))]),
  ],
  [14, 'has a long-lived breakpoint after a short one', request([asks(marked('a'), marked('b', '1h'))])],
  [
    14,
    'has a breakpoint on thinking',
    request([hello, says({ ...thinking('s'), cache_control: { type: 'ephemeral' } }, text('x')), hello]),
  ],
  [17, 'has an image of 9,000 pixels', request([asks(imageOf(png(9_000, 9)))])],
  [17, 'has 21 images of 2,400 pixels', request([asks(...images(21, imageOf(png(2_400, 9))))])],
  [17, 'has an image of another type', request([asks(imageOf(png(), 'image/gif'))])],
  [17, 'has an image that is none', request([asks(imageOf('AAAA'))])],
  [
    17,
    'has an image of a data URL in a result',
    request([hello, says(toolUse('a')), asks(toolResult('a', [imageOf('data:,A')]))]),
  ],
  [17, 'has an image of more than 5 MB', request([asks(imageOf(png(40, 30, 4_000_000)))])],
  [18, 'has 101 images', request([asks(...images(101, imageOf(png())))])],
  [18, 'has more than 32 MB', request([asks(...images(7, imageOf(png(40, 30, 3_900_000))))])],
]

describe('each predicate fails on a request that', () => {
  it.each(bad)('%i: %s', (number, _, broken) => {
    expect(predicates[number]?.(broken)).not.toEqual([])
  })

  it('and only on one: a good request passes all', () => {
    const good = request([
      asks(marked('Search.', '1h')),
      says(thinking('s'), server, found, toolUse('a'), toolUse('b')),
      asks(toolResult('b', [text('two')]), toolResult('a'), marked('Well?')),
    ])
    expect(violations(good)).toEqual([])
    expect(violations(request([hello, says(text('Yes.'))], { awaits: 'user' }))).toEqual([])
    expect(violations({ ...request([hello, says(text('Yes.'))]), paused: true })).toEqual([])
    expect(violations({ ...request([hello, says(server)]), paused: true })).toEqual([])
    const round = [hello, says(server, toolUse('a')), asks(toolResult('a'))]
    expect(violations(request(round))).toEqual([])
    expect(violations(request([...round, says(found, text('So.')), hello]))).toEqual([])
  })
})

describe('each predicate of the log behind a request fails on', () => {
  const caseOf = (...events: readonly Event[]): Case => {
    const log = logOf(...events)
    return casesOf(log, moments(log)).at(-1) ?? request([])
  }
  const failing = (broken: Case, number: number): readonly string[] => predicates[number]?.(broken) ?? []
  const withMessages = (whole: Case, messages: readonly RenderedMessage[]): Case => ({
    ...whole,
    rendered: { ...whole.rendered, messages },
  })
  const two = [thinking('one'), thinking('two'), text('Yes.')]
  const thought = caseOf(user('Hello.'), assistant(two), user('Go on.'))

  it('11: thinking that was changed, reordered or taken in part', () => {
    expect(failing(thought, 11)).toEqual([])
    for (const content of [
      [thinking('one', 'other words'), ...two.slice(1)],
      [two[1], two[0], two[2]],
      two.slice(1),
    ])
      expect(
        failing(withMessages(thought, [hello, says(...content.flatMap((block) => block ?? [])), hello]), 11),
      ).not.toEqual([])
  })

  it('12: thinking after a prefix that it was not produced under', () => {
    expect(failing(thought, 12)).toEqual([])
    const messages = [asks(text('Something else.')), ...thought.rendered.messages.slice(1)]
    expect(failing(withMessages(thought, messages), 12)).not.toEqual([])
    const other: Case = { ...thought, rendered: { ...thought.rendered, system: 'Be brief.' } }
    expect(failing(other, 12)).not.toEqual([])
  })

  it('13: a compaction that is not the stored one', () => {
    const compacted = caseOf(user('Hello.'), condensed(0, 0, [{ type: 'compaction', content: 'As it was.' }]))
    expect(failing(compacted, 13)).toEqual([])
    const messages = [asks({ type: 'compaction', content: 'As it was not.' })]
    expect(failing(withMessages(compacted, messages), 13)).not.toEqual([])
  })

  it('15: a message that an append changed', () => {
    expect(failing(thought, 15)).toEqual([])
    expect(
      failing(withMessages(thought, [asks(text('Hello?')), ...thought.rendered.messages.slice(1)]), 15),
    ).not.toEqual([])
  })

  it('16: other bytes the second time', () => {
    expect(failing(thought, 16)).toEqual([])
    expect(failing(withMessages(thought, []), 16)).not.toEqual([])
  })
})
