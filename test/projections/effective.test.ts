import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { effective, type Item, itemOf, messagesOf } from '../../src/projections/effective.ts'
import {
  assistant,
  condensed,
  configured,
  eventAt,
  logOf,
  rewound,
  text,
  truncated,
  user,
} from '../support/log.ts'

const origin = { model: 'm', requestId: 'r' }
const time = '2026-01-01T00:00:00.000Z'
const marker = { covers: { first: 1, last: 3 }, messagesHidden: 3, tokens: { before: 10, after: 1 } }
const itemAt7 = (event: Event): Item | undefined => itemOf(eventAt(event, 7))

describe('an item', () => {
  it('of a message has its content, and the id of the event where it has none of its own', () => {
    const message = { kind: 'message', position: 7, time, role: 'assistant', content: [text('one')] }
    const said = assistant('one', origin)
    expect(itemAt7(assistant('one'))).toStrictEqual({ ...message, messageId: 'event-7' })
    expect(itemAt7({ ...said, data: { ...said.data, messageId: 'own' } } as Event)).toStrictEqual({
      ...message,
      messageId: 'own',
      origin,
    })
  })

  it('of a condensed slice has the summary, who wrote it, and what it stands for', () => {
    const summary = { kind: 'summary', position: 7, time, ...marker, method: 'manual' }
    const event = condensed(1, 3, 'S.')
    const messages = [{ role: 'user', content: [text('S.')] }]
    expect(itemAt7(event)).toStrictEqual({ ...summary, messages })
    expect(itemAt7({ ...event, data: { ...event.data, origin } })).toStrictEqual({
      ...summary,
      messages,
      origin,
    })
  })

  it('of a truncated slice has the reason, and what it stands for', () => {
    const event = truncated(1, 3)
    const truncation = { kind: 'truncation', position: 7, time, ...marker }
    expect(itemAt7(event)).toStrictEqual(truncation)
    expect(itemAt7({ ...event, data: { ...event.data, reason: '' } })).toStrictEqual({
      ...truncation,
      reason: '',
    })
  })

  it('is there of nothing else', () => {
    expect([rewound(0), configured({})].map(itemAt7)).toEqual([undefined, undefined])
  })

  it('shows its message, its summary, or none', () => {
    const { items } = effective(
      logOf(user('m0'), user('m1'), user('m2'), condensed(1, 1, 'S.'), truncated(2, 2)),
    )
    expect(items.map((item) => messagesOf(item).map(({ content }) => content))).toEqual([
      [[text('m0')]],
      [[text('S.')]],
      [],
    ])
  })
})
