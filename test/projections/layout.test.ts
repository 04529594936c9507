import { describe, expect, it } from 'vitest'
import type { Event, View } from '../../src/events/events.ts'
import { fold, needsView, viewIn, viewOf } from '../../src/projections/layout.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  restored,
  rewound,
  truncated,
  user,
} from '../support/log.ts'

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3')]
const viewAfter = (...events: readonly Event[]): View => viewOf(fold(logOf(...events)).layout)

describe('a view', () => {
  it('of a conversation in which nothing happened has no more than an empty list', () => {
    expect(viewAfter()).toStrictEqual({ items: [] })
  })

  it('names messages that follow one another as a range, and each marker', () => {
    expect(viewAfter(...talk, condensed(1, 1))).toStrictEqual({
      items: [{ first: 0, last: 0 }, { marker: 4 }, { first: 2, last: 3 }],
    })
  })

  it('begins another range where more than 32 positions lie between two messages', () => {
    const gap = (length: number): readonly Event[] => Array.from({ length }, () => configured({}))
    expect(viewAfter(user('m0'), ...gap(31), user('m32')).items).toEqual([{ first: 0, last: 32 }])
    const many = Array.from({ length: 40 }, () => user('again'))
    expect(viewAfter(...many).items).toEqual([{ first: 0, last: 39 }])
    expect(viewAfter(user('m0'), ...gap(32), user('m33')).items).toEqual([
      { first: 0, last: 0 },
      { first: 33, last: 33 },
    ])
  })

  it('names the configuration in force, and since when system, tools and model have been the same', () => {
    const change = configured({ system: 'A.', model: 'm' })
    const sameAgain = configured({ system: 'A.', model: 'm', parameters: { max_tokens: 9 } })
    expect(viewAfter(user('m0'), change)).toStrictEqual({
      items: [{ first: 0, last: 0 }],
      configured: 1,
      promptSince: 1,
      toolsFrom: -1,
    })
    expect(viewAfter(change, sameAgain)).toStrictEqual({
      items: [],
      configured: 1,
      promptSince: 0,
      toolsFrom: -1,
    })
    for (const other of [
      { system: 'B.', model: 'm' },
      { system: 'A.', model: 'm', tools: [] },
      { system: 'A.' },
    ])
      expect(viewAfter(change, configured(other)).promptSince).toBe(1)
  })

  it('names the last configuration that had tools, where the one in force has none', () => {
    const tools = configured({ tools: [{ name: 'run' }] })
    const none = configured({ system: 'A.' })
    expect('toolsFrom' in viewAfter(tools)).toBe(false)
    expect(viewAfter(tools, none).toolsFrom).toBe(0)
    expect(viewAfter(tools, none, configured({ tools: [] })).toolsFrom).toBe(0)
    expect(viewAfter(tools, none, tools, none).toolsFrom).toBe(2)
    expect('toolsFrom' in viewAfter(tools, none, tools)).toBe(false)
    expect('toolsFrom' in viewAfter(user('m0'))).toBe(false)
  })

  it('names the spans in which something was hidden that is shown again, overlapping ones as one', () => {
    const once = [...talk, truncated(1, 1), restored(4)]
    expect(viewAfter(...once).restored).toEqual([{ after: 4, before: 5 }])
    expect(viewAfter(...once, truncated(2, 2), restored(6)).restored).toEqual([
      { after: 4, before: 5 },
      { after: 6, before: 7 },
    ])
    const crossing = [...talk, truncated(1, 1), truncated(2, 2), restored(4), restored(5)]
    expect(viewAfter(...crossing).restored).toEqual([{ after: 4, before: 7 }])
    const around = [...talk, truncated(1, 1), truncated(2, 2), restored(5), restored(4)]
    expect(viewAfter(...around).restored).toEqual([{ after: 4, before: 7 }])
  })

  it('is in the markers and restores that carry one, and in no other event', () => {
    const view = { items: [{ first: 0, last: 0 }] }
    const carrying = [condensed(0, 0), truncated(0, 0), restored(0)]
    for (const event of carrying) {
      expect(viewIn(event)).toBeUndefined()
      expect(viewIn({ ...event, data: { ...event.data, view } } as Event)).toBe(view)
    }
    for (const event of [user('m0'), configured({}), rewound(0)])
      expect(viewIn({ ...event, data: { ...event.data, view } } as Event)).toBeUndefined()
  })

  it('may be left out while the events since the last one are fewer than its segments', () => {
    const view: View = { items: [{ first: 0, last: 3 }, { marker: 4 }] }
    expect([0, 1, 2, 3].map((sinceView) => needsView(view, sinceView))).toEqual([false, false, true, true])
  })
})
