import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { render, type RenderResult } from '../../src/projections/render/render.ts'
import {
  assistant,
  compacted,
  condensed,
  configured,
  logOf,
  said,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { hello } from '../support/render-log.ts'

/** Where a request has breakpoints: `system[0]`, `tools[1]`, `2.0` for the first block of messages[2]. */
const placesOf = ({ system, tools = [], messages }: RenderResult): readonly string[] => {
  const placed = (name: string, parts: readonly object[]): readonly string[] =>
    parts.flatMap((part, index) => ('cache_control' in part ? [`${name}${index}`] : []))
  return [
    ...placed('tool ', tools),
    ...placed('system ', Array.isArray(system) ? system : []),
    ...messages.flatMap(({ content }, index) => placed(`${index}.`, content)),
  ]
}
const rendered = (...events: readonly Event[]): RenderResult =>
  render(effective(logOf(...events)), { cache: '5m' })
const places = (...events: readonly Event[]): readonly string[] => placesOf(rendered(...events))
const marked = { ...text('a'), cache_control: { type: 'ephemeral', ttl: '1h' } }

describe('with the option cache, breakpoints are', () => {
  it('at the end of the system prompt, which is a block then', () => {
    const request = rendered(configured({ system: 'Be brief.', tools: [{ name: 'run' }] }), hello)
    expect(request.system).toEqual([{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }])
    expect(placesOf(request)).toEqual(['system 0', '0.0'])
    const blocks = configured({ system: [text('Be brief.'), text('And clear.')] })
    expect(places(blocks, hello)).toEqual(['system 1', '0.0'])
  })

  it('on the last tool if there is no system prompt, and on neither if there is neither', () => {
    expect(places(configured({ tools: [{ name: 'read' }, { name: 'run' }] }), hello)).toEqual([
      'tool 1',
      '0.0',
    ])
    expect(places(configured({ tools: [] }), hello)).toEqual(['0.0'])
    expect(places(configured({ system: ' ' }), hello)).toEqual(['0.0'])
  })

  it('where the request before this one ended, and where this one ends', () => {
    expect(
      places(
        hello,
        assistant([text('I look.'), toolUse('a')]),
        user([toolResult('a'), text('Hurry.')]),
        assistant('Done.'),
        user('Thanks.'),
        user('And now?'),
      ),
    ).toEqual(['2.1', '4.1'])
    expect(places(hello, assistant('Hello!'))).toEqual(['0.0'])
    expect(places()).toEqual([])
  })

  it('on the answer that repairs an open call', () => {
    expect(places(hello, assistant([toolUse('a')]))).toEqual(['0.0', '2.0'])
  })

  it('after the newest summary', () => {
    const talk = [hello, assistant('One.'), user('Two.'), assistant('Three.'), user('Four.')]
    const more = [assistant('Five.'), user('Six.'), assistant('Seven.'), user('Eight.')]
    expect(places(...talk, condensed(1, 3), ...more)).toEqual(['0.1', '2.0', '4.0'])
    expect(places(...talk, condensed(1, 2), condensed(3, 4), ...more)).toEqual(['0.2', '2.0', '4.0'])
  })

  it('not after an edit in place, a truncation, or a summary that is not shown', () => {
    const talk = [hello, assistant('One.'), user('Two.'), assistant('Three.'), user('Four.')]
    expect(places(...talk, condensed(0, 0, 'Edited.'))).toEqual(['2.0', '4.0'])
    expect(places(...talk, truncated(0, 0))).toEqual(['2.0', '4.0'])
    const more = [assistant('Five.'), user('Six.')]
    expect(places(...talk, ...more, condensed(1, 2, ' '))).toEqual(['2.0', '4.0'])
  })

  it('one for two where places fall together', () => {
    expect(places(hello, assistant('One.'), condensed(0, 1))).toEqual(['0.0'])
    expect(places(hello, assistant('One.'), condensed(0, 1), assistant('Two.'), user('Three.'))).toEqual([
      '0.0',
      '2.0',
    ])
  })

  it('not on a compaction, which goes back as it was', () => {
    const compaction = { type: 'compaction' as const, content: 'As it was.' }
    const request = rendered(
      hello,
      compacted(0, 0, [{ role: 'assistant', content: [compaction] }]),
      user('Two.'),
    )
    expect(placesOf(request)).toEqual(['1.0'])
    expect(request.messages[0]?.content).toEqual([compaction])
  })

  it('not on thinking, which ends no summary', () => {
    const summary = [
      { role: 'user' as const, content: [text('What was asked.')] },
      { role: 'assistant' as const, content: [text('What was said.'), thinking('s')] },
    ]
    expect(places(hello, assistant('One.'), condensed(0, 1, summary), user('Two.'))).toEqual([
      '0.0',
      '1.0',
      '2.0',
    ])
  })

  it('on messages of the system, where the model takes them', () => {
    const log = logOf(hello, said('system', 'Speak French.'), assistant('Oui.'), user('Bien.'))
    expect(placesOf(render(effective(log), { cache: '5m', systemMessages: true }))).toEqual(['1.0', '3.0'])
  })

  it('instead of all that are stored, with a repair for each', () => {
    const request = rendered(
      configured({ tools: [{ name: 'run', cache_control: { type: 'ephemeral' } }] }),
      user([marked, text('b')]),
      assistant([toolUse('a')]),
      user([{ ...toolResult('a', [marked]), cache_control: null }]),
    )
    expect(placesOf(request)).toEqual(['tool 0', '0.1', '2.0'])
    expect(request.messages[2]?.content[0]).toEqual({
      ...toolResult('a', [text('a')]),
      cache_control: { type: 'ephemeral' },
    })
    expect(request.repairs.map(({ kind, position }) => [kind, position])).toEqual([
      ['cache-control-dropped', 0],
      ['cache-control-dropped', 1],
      ['cache-control-dropped', 3],
    ])
  })

  it('that live as long as asked for', () => {
    const { messages } = render(effective(logOf(hello)), { cache: '1h' })
    expect(messages[0]?.content[0]?.['cache_control']).toEqual({ type: 'ephemeral', ttl: '1h' })
  })

  it('nowhere without it', () => {
    expect(placesOf(render(effective(logOf(configured({ system: 'Be brief.' }), hello))))).toEqual([])
  })
})
