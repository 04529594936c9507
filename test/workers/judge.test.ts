import { describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../src/store/port.ts'
import { isUnclaimed } from '../support/workers/judge.ts'

/** Events as a store gives them: stream, type, data, and what else is in their metadata. */
const recorded = (
  ...all: readonly (readonly [stream: string, type: string, data?: object, metadata?: object])[]
): readonly RecordedEvent[] =>
  all.map(([stream, type, data = {}, metadata = {}], at) => ({
    id: `e${at}`,
    stream,
    revision: at,
    checkpoint: String(at),
    type,
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  }))

const [chat, turns] = ['conversation-a', 'turns-a']
const asked = [chat, 'MessageAppended', { role: 'user', content: [] }, { answer: true }] as const
const claimed = [turns, 'TurnClaimed', { worker: 'w' }] as const
const final = [chat, 'MessageAppended', { role: 'assistant', content: [{ type: 'text' }] }] as const
const calling = [chat, 'MessageAppended', { role: 'assistant', content: [{ type: 'tool_use' }] }] as const
const rewound = [chat, 'Rewound', { to: 0 }] as const

describe('two programs may both call the model', () => {
  test.each([
    ['before anybody has asked workers or claimed', recorded()],
    ['after the model has finished, whatever is rewound then', recorded(asked, claimed, final, rewound)],
    [
      'once a worker has found nothing to do',
      recorded(asked, claimed, [turns, 'TurnReleased', { reason: 'done' }]),
    ],
    [
      'whatever is asked and claimed elsewhere',
      recorded(['conversation-b', 'MessageAppended', {}, { answer: true }]),
    ],
  ])('%s', (_, events) => {
    expect(isUnclaimed(events, 'a')).toBe(true)
  })
})

describe('two programs may not both call the model', () => {
  test.each([
    ['where workers are asked', recorded(asked)],
    ['where workers are asked in a fact of its own', recorded(final, [turns, 'TurnRequested'])],
    ['where somebody holds the conversation', recorded(claimed)],
    ['after a reply that calls tools', recorded(asked, claimed, calling)],
    [
      'after an attempt that has failed',
      recorded(asked, claimed, [turns, 'TurnReleased', { reason: 'failed' }]),
    ],
  ])('%s', (_, events) => {
    expect(isUnclaimed(events, 'a')).toBe(false)
  })
})
