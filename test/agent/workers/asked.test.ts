import { expect, test } from 'vitest'
import type { ConversationEvent, Event } from '../../../src/events/events.ts'
import { type TurnDemand, demandAfter, nothingAsked } from '../../../src/agent/turn/calls/turn-demand.ts'
import { assistant, eventAt, user } from '../../support/log.ts'

/** Events, each with the command that brought it, and whether it asks workers. */
const askedIn = (
  ...events: readonly (readonly [event: Event, commandId: string, answer?: true])[]
): TurnDemand =>
  events
    .map(([event, commandId, answer], position): ConversationEvent => {
      const at = eventAt(event, position)
      return { ...at, metadata: { ...at.metadata, commandId, ...(answer && { answer }) } }
    })
    .reduce(demandAfter, nothingAsked)

const ask = user('Is it there?')
const final = assistant('Yes.')
const calling = assistant([{ type: 'tool_use', id: 't', name: 'look', input: {} }], {
  stopReason: 'tool_use',
})

test('what was asked is over with the final reply', () => {
  expect(askedIn([ask, 'a', true], [final, 'b'], [calling, 'c'])).toMatchObject({ isAsked: false, final: 1 })
})

test('what the command of the final reply says again is still asked', () => {
  const moved = [
    [ask, 'a', true],
    [final, 'b'],
    [ask, 'b'],
  ] as const
  expect(askedIn(...moved)).toMatchObject({ isAsked: true, final: 1 })
  expect(askedIn(...moved, [calling, 'c'])).toMatchObject({ isAsked: true, final: 1 })
  expect(askedIn(...moved, [calling, 'c'], [final, 'd'], [calling, 'e'])).toMatchObject({ isAsked: false })
})
