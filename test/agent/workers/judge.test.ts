import { describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../src/store/port.ts'
import { standingAfter } from '../../support/workers/judge.ts'

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

describe('the judge reads from the log', () => {
  test.each([
    ['nothing before anybody has asked or claimed', [], {}],
    ['nothing after the model has finished, whatever is rewound then', [asked, claimed, final, rewound], {}],
    [
      'nothing once a worker has found nothing to do',
      [asked, claimed, [turns, 'TurnReleased', { reason: 'done' }]],
      {},
    ],
    ['nothing of what is asked elsewhere', [['conversation-b', 'MessageAppended', {}, { answer: true }]], {}],
    ['that workers are asked', [asked], { isAsked: true }],
    [
      'that workers are asked by what is said again with a reply',
      [asked, claimed, final, asked],
      { isAsked: true },
    ],
    ['that workers are asked in a fact of its own', [final, [turns, 'TurnRequested']], { isAsked: true }],
    ['who holds the conversation', [claimed], { holder: 'w' }],
    [
      'who holds it after a reply that calls tools',
      [asked, claimed, calling],
      { isAsked: true, holder: 'w' },
    ],
    [
      'that an attempt has failed',
      [asked, claimed, [turns, 'TurnReleased', { reason: 'failed' }]],
      { isAsked: true },
    ],
  ] as const)('%s', (_, events, standing) => {
    expect(standingAfter(recorded(...events), 'a')).toEqual({ isAsked: false, ...standing })
  })
})
