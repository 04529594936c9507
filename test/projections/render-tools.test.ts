import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { render } from '../../src/projections/render/render.ts'
import {
  assistant,
  compacted,
  condensed,
  configured,
  logOf,
  restored,
  text,
  thinking,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'

const tool = (name: string) => ({ name, input_schema: { type: 'object' } })
const withTools = (...names: readonly string[]): Event => configured({ tools: names.map(tool) })
const none = configured({ system: 'Be brief.' })
const round = [user('Hello.'), assistant([toolUse('a')]), user([toolResult('a')])]

/** The names of the request's tools, what may be called, and the repairs that speak of tools. */
const toolsIn = (...events: readonly Event[]): readonly unknown[] => {
  const { tools, tool_choice, repairs } = render(effective(logOf(...events)))
  const said = repairs.flatMap(({ kind, position }) =>
    kind.startsWith('tools-') ? [`${kind} ${position}`] : [],
  )
  return [tools?.map(({ name }) => name), tool_choice?.type, ...said]
}

describe('the tools of a request with calls', () => {
  it('are those in force, as long as there are some', () => {
    expect(toolsIn(withTools('run'), ...round)).toEqual([['run'], undefined])
    expect(toolsIn(withTools('run'), ...round, withTools('other'))).toEqual([['other'], undefined])
  })

  it.each<readonly [string, Event]>([
    ['are left out of the configuration', none],
    ['are an empty list', configured({ tools: [] })],
  ])('are the last ones that there were, and none may be called, where those in force %s', (_, none_) => {
    expect(toolsIn(withTools('run', 'read'), ...round, none_)).toEqual([
      ['run', 'read'],
      'none',
      'tools-recalled 0',
    ])
    const again = [withTools('read'), ...round, none_, configured({ model: 'm' })]
    expect(toolsIn(...again)).toEqual([['read'], 'none', 'tools-recalled 0'])
  })

  it('are not recalled for calls that are not shown', () => {
    expect(toolsIn(withTools('run'), user('Hello.'), none)).toEqual([undefined, undefined])
    const hidden = [withTools('run'), ...round, none, condensed(1, 3)]
    expect(toolsIn(...hidden)).toEqual([undefined, undefined])
    expect(toolsIn(...hidden, restored(5))).toEqual([['run'], 'none', 'tools-recalled 0'])
    expect(toolsIn(withTools('run'), ...round, none, truncated(1, 3), user('Well?'))).toEqual([
      undefined,
      undefined,
    ])
    const block = { type: 'compaction' as const, content: 'All of it.' }
    const summary = compacted(1, 3, [{ role: 'assistant', content: [block] }])
    expect(toolsIn(withTools('run'), ...round, none, summary)).toEqual([undefined, undefined])
  })

  it('are recalled for a call in what stands for it now', () => {
    const edited = condensed(2, 2, [{ role: 'assistant', content: [text('So.'), toolUse('a')] }])
    expect(toolsIn(withTools('run'), ...round, none, edited)).toEqual([['run'], 'none', 'tools-recalled 0'])
  })

  it('are unknown where none were recorded before the calls', () => {
    expect(toolsIn(...round)).toEqual([undefined, undefined, 'tools-unknown 1'])
    expect(toolsIn(none, ...round)).toEqual([undefined, undefined, 'tools-unknown 2'])
    expect(toolsIn(configured({ tools: [] }), ...round)).toEqual([[], undefined, 'tools-unknown 2'])
  })

  it('are recalled for a call that was recorded after they were removed', () => {
    expect(toolsIn(withTools('run'), none, ...round)).toEqual([['run'], 'none', 'tools-recalled 0'])
    const edited = condensed(3, 3, [{ role: 'assistant', content: [text('It ran.')] }])
    expect(toolsIn(withTools('run'), none, ...round, edited)).toEqual([undefined, undefined])
  })

  it.each([
    ['before it', [assistant([thinking('t'), text('So.')]), user('And?'), assistant([toolUse('a')])]],
    ['with it', [assistant([thinking('t'), toolUse('a')])]],
  ])('are not where something was thought %s without them: it is bound to what was sent', (_, said) => {
    const log = [withTools('run'), none, user('Hello.'), ...said, user([toolResult('a')])]
    expect(toolsIn(...log)).toEqual([undefined, undefined, `tools-unknown ${2 + said.length}`])
    expect(JSON.stringify(render(effective(logOf(...log))).messages)).toContain('"signature":"t"')
  })

  it('stay recalled when something is thought later', () => {
    const thought = [assistant([thinking('t'), text('So.')]), user('And?')]
    const log = [withTools('run'), none, ...round, ...thought]
    expect(toolsIn(...log)).toEqual([['run'], 'none', 'tools-recalled 0'])
    expect(JSON.stringify(render(effective(logOf(...log))).messages)).toContain('"signature":"t"')
  })

  it('stay the same while messages are appended: thinking is bound to them', () => {
    const thought = assistant([thinking('t'), text('So.')])
    const events = [withTools('run'), ...round, none, user('Well?'), thought, user('And?')]
    const later = [...events, assistant([toolUse('b')]), user([toolResult('b')])]
    for (const log of [events, later]) {
      expect(toolsIn(...log).slice(0, 2)).toEqual([['run'], 'none'])
      expect(JSON.stringify(render(effective(logOf(...log))).messages)).toContain('"signature":"t"')
    }
  })
})
