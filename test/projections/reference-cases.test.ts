import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { full } from '../../src/projections/full.ts'
import type { Log } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/render.ts'
import { apply } from '../support/histories.ts'
import {
  assistant,
  condensed,
  logOf,
  rewound,
  text,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { shownAs } from '../support/specification.ts'

// What the agents that condense and truncate in place test of themselves, as rules of this store.

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3'), user('m4'), assistant('m5')]

const textsOf = (log: Log): readonly unknown[] =>
  render(effective(log)).messages.flatMap(({ content }) =>
    content.map((block) => block['text'] ?? block.type),
  )

describe('the effective history', () => {
  it.each<readonly [string, readonly Event[], string]>([
    ['is every message while nothing is hidden', [], '0 1 2 3 4 5'],
    ['leaves out what a summary covers and nothing else', [condensed(1, 3)], '0 S6 4 5'],
    ['leaves out what a truncation covers and nothing else', [truncated(1, 2)], '0 T6 3 4 5'],
    ['has both, side by side', [condensed(1, 2), truncated(3, 4)], '0 S6 T7 5'],
    ['has only the outer one of nested ones', [condensed(1, 2), truncated(6, 4)], '0 T7 5'],
    ['goes on behind a summary of everything', [condensed(0, 5), user('m7')], 'S6 7'],
  ])('%s', (_, events, shown) => {
    expect(shownAs(logOf(...talk, ...events))).toBe(shown)
  })
})

describe('a rewind', () => {
  it.each<readonly [string, readonly Event[], string]>([
    [
      'past a summary makes its messages active again and removes it',
      [condensed(1, 3), rewound(5)],
      '0 1 2 3 4 5',
    ],
    [
      'past a truncation makes its messages active again and removes it',
      [truncated(1, 3), rewound(5)],
      '0 1 2 3 4 5',
    ],
    [
      'past the second of two nested ones keeps the first',
      [condensed(1, 2), truncated(6, 3), rewound(6)],
      '0 S6 3 4 5',
    ],
    [
      'past a message behind a summary keeps the summary',
      [condensed(1, 3), user('m7'), rewound(6)],
      '0 S6 4 5',
    ],
    ['to before a message that a summary covers removes the summary', [condensed(1, 3), rewound(1)], '0 1'],
  ])('%s', (_, events, shown) => {
    expect(shownAs(logOf(...talk, ...events))).toBe(shown)
  })
})

describe('truncations one after the other', () => {
  const truncatedFourTimes = (): Log => {
    let log = logOf(...talk)
    for (let n = 0; n < 4; n++) {
      log = apply(log, {
        type: 'append',
        messages: [
          { role: 'user', content: `more ${n}` },
          { role: 'assistant', content: 'ok' },
        ],
      })
      log = apply(log, { type: 'truncate', fraction: 0.5 })
    }
    return log
  }

  it('keep the first message', () => {
    const log = truncatedFourTimes()
    expect(log.filter(({ type }) => type === 'Truncated')).toHaveLength(4)
    expect(shownAs(log).split(' ')[0]).toBe('0')
  })

  it('lose no message from the full history: each is active or says what hides it', () => {
    const log = truncatedFourTimes()
    const messages = full(log).filter(({ kind }) => kind === 'message')
    expect(messages).toHaveLength(14)
    for (const { status, by } of messages)
      if (status !== 'active') expect(log[by ?? -1]?.type).toBe('Truncated')
  })
})

describe('a tool result whose call is not shown', () => {
  const round = [user('m0'), assistant([toolUse('a')])]

  it('is dropped, and its user message with it when nothing else is in it', () => {
    const log = logOf(...round, user([toolResult('a')]), assistant('done'), condensed(0, 1))
    expect(textsOf(log)).toEqual(['Summary.', 'done'])
    expect(render(effective(log)).repairs.map(({ kind, position }) => [kind, position])).toEqual([
      ['result-dropped', 2],
      ['message-dropped', 2],
    ])
  })

  it('is dropped, and the rest of its message stays', () => {
    const log = logOf(...round, user([toolResult('a'), text('And now?')]), assistant('done'), condensed(0, 1))
    expect(textsOf(log)).toEqual(['Summary.', 'And now?', 'done'])
  })

  it('is dropped alone: the results of calls that are shown stay', () => {
    const log = logOf(
      user('m0'),
      assistant([toolUse('b')]),
      user([toolResult('a', 'other'), toolResult('b')]),
    )
    expect(render(effective(log)).messages.at(-1)?.content).toEqual([toolResult('b')])
  })

  it('is dropped also where nothing was ever hidden', () => {
    expect(textsOf(logOf(user('m0'), user([toolResult('nobody')]), assistant('m2')))).toEqual(['m0', 'm2'])
    expect(textsOf(logOf(user([toolResult('nobody'), text('mixed')])))).toEqual(['mixed'])
  })
})
