import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import type { RenderResult } from '../../src/projections/render/render.ts'
import { assistant, compacted, condensed, text, user } from '../support/log.ts'
import { hello, rendered } from '../support/render-log.ts'

const compaction: Block = { type: 'compaction', content: 'c' }
const kinds = ({ repairs }: RenderResult): readonly string[] =>
  repairs.map(({ kind, position }) => `${kind} ${position}`)

describe('a compaction', () => {
  it('stays at the beginning of a request, and only there', () => {
    for (const message of [user([compaction, text('And?')]), assistant([compaction, text('So.')])]) {
      const { messages, repairs } = rendered(message)
      expect([messages[0]?.content[0], messages.length, repairs]).toEqual([compaction, 1, []])
    }
    expect(rendered(hello, user([compaction, text('And?')])).messages[0]?.content).toEqual([
      text('Hello.'),
      text('And?'),
    ])
  })

  it('after a text of the first message is left out', () => {
    const request = rendered(user([text('Hello.'), compaction]))
    expect(request.messages[0]?.content).toEqual([text('Hello.')])
    expect(kinds(request)).toEqual(['compaction-applied 0'])
  })

  it.each([null, ''])('that failed goes, also at the beginning: %j', (content) => {
    const request = rendered(user([{ type: 'compaction', content }, text('Hello.')]))
    expect(request.messages[0]?.content).toEqual([text('Hello.')])
    expect(kinds(request)).toEqual(['compaction-applied 0'])
  })

  it('that is the first summary is sent as it is', () => {
    const request = rendered(hello, condensed(0, 0, [compaction, text('So far.')]), assistant('And now?'))
    expect(request.messages[0]?.content).toEqual([compaction, text('So far.')])
    expect(kinds(request)).toEqual([])
  })

  it('makes itself first in its summary', () => {
    const request = rendered(hello, compacted(0, 0, [text('Before.'), compaction, text('After.')]))
    expect(request.messages.map(({ content }) => content)).toEqual([[compaction, text('After.')]])
    expect(kinds(request)).toEqual(['compaction-applied 1'])
  })

  it('in a message that was edited in place is as little as in the message', () => {
    const [before, after] = [
      user([text('And?'), compaction]),
      condensed(1, 1, [text('And then?'), compaction]),
    ]
    expect(rendered(hello, before, after).messages.map(({ content }) => content)).toEqual([
      [text('Hello.'), text('And then?')],
    ])
    expect(kinds(rendered(hello, before, after))).toContain('compaction-applied 2')
  })
})
