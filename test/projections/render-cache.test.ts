import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import { assistant, configured, text, toolResult, toolUse, user } from '../support/log.ts'
import { hello, rendered } from '../support/render-log.ts'

describe('cache breakpoints', () => {
  const marked = (value: string, control: unknown = { type: 'ephemeral' }): Block => ({
    ...text(value),
    cache_control: control,
  })
  const hour = { type: 'ephemeral', ttl: '1h' }
  const isMarked = (part: object): boolean => 'cache_control' in part

  it('of tools and system prompt count first, and belong to the configuration', () => {
    const tool = { name: 'run', cache_control: { type: 'ephemeral' } }
    const { tools, system, messages, repairs } = rendered(
      configured({ tools: [tool, { name: 'read' }], system: [marked('Be brief.'), text('And clear.')] }),
      user(['a', 'b', 'c', 'd'].map((value) => marked(value))),
    )
    expect(tools).toEqual([{ name: 'run' }, { name: 'read' }])
    expect(system).toEqual([text('Be brief.'), text('And clear.')])
    expect(messages[0]?.content.every(isMarked)).toBe(true)
    expect(repairs.map(({ kind, position }) => [kind, position])).toEqual([
      ['cache-control-dropped', 0],
      ['cache-control-dropped', 0],
    ])
  })

  it('inside a result count before the one on it', () => {
    const result = { ...toolResult('a', [marked('in'), text('side')]), cache_control: { type: 'ephemeral' } }
    const { messages } = rendered(
      hello,
      assistant([toolUse('a')]),
      user([result, ...['b', 'c', 'd'].map((value) => marked(value))]),
    )
    expect(messages[2]?.content[0]).toEqual({ ...result, content: [text('in'), text('side')] })
    expect(messages[2]?.content.every(isMarked)).toBe(true)
  })

  it.each<readonly [string, readonly unknown[], readonly boolean[]]>([
    ['of an hour are four at most as well', [hour, hour, hour, hour, hour], [false, true, true, true, true]],
    ['of an hour may come before shorter ones', [hour, hour, {}, {}], [true, true, true, true]],
    ['of an hour go after the first shorter one', [hour, { ttl: '5m' }, hour, {}], [true, true, false, true]],
    [
      'that went make none after them too long',
      [{}, hour, hour, hour, hour],
      [false, true, true, true, true],
    ],
    ['that are none are not counted', [null, 'x', {}, {}, {}, {}], [true, true, true, true, true, true]],
  ])('%s', (_, controls, kept) => {
    const { messages } = rendered(user(controls.map((control, index) => marked(`${index}`, control))))
    expect(messages[0]?.content.map(isMarked)).toEqual(kept)
  })

  it('inside what a server tool found are its own', () => {
    const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [marked('found')] }
    const { messages } = rendered(
      hello,
      assistant([use, found]),
      user(['a', 'b', 'c', 'd'].map((value) => marked(value))),
    )
    expect(messages[1]?.content).toEqual([use, found])
    expect(messages[2]?.content.every(isMarked)).toBe(true)
  })
})
