import { describe, expect, it } from 'vitest'
import { fold, viewIn, viewOf } from '../../src/projections/layout.ts'
import { apply } from '../support/histories.ts'
import { assistant, condensed, logOf, text, toolResult, toolUse, truncated, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { given } from '../support/specification.ts'

const talk = [user('m0'), assistant('m1'), user('m2'), assistant('m3'), user('m4'), assistant('m5')]
const round = [
  user('m0'),
  assistant([toolUse('a'), toolUse('b')]),
  user([toolResult('a')]),
  user([toolResult('b')]),
  assistant('m4'),
  user('m5'),
]

describe('a fraction', () => {
  it('is of the items after the kept first ones, rounded down', () => {
    given(...talk)
      .when({ type: 'truncate', fraction: 0.5 })
      .shows('0 T6 3 4 5')
    given(...talk)
      .when({ type: 'truncate', fraction: 0.39 })
      .shows('0 T6 2 3 4 5')
    given(...talk)
      .when({ type: 'truncate', fraction: 0.5, keepFirst: 0 })
      .shows('T6 3 4 5')
    given(...talk)
      .when({ type: 'truncate', fraction: 0.5, keepFirst: 2 })
      .shows('0 1 T6 4 5')
  })

  it('that comes to less than one item is refused', () => {
    given(...talk)
      .when({ type: 'truncate', fraction: 0.1 })
      .then('NothingToHide')
  })

  it('of everything keeps the last message, unless told otherwise', () => {
    given(...talk)
      .when({ type: 'truncate', fraction: 1 })
      .shows('0 T6 5')
    given(...talk)
      .when({ type: 'truncate', fraction: 1, keepLast: 0 })
      .shows('0 T6')
    given(...talk)
      .when({ type: 'truncate', fraction: 1, keepLast: 2 })
      .shows('0 T6 4 5')
  })
})

describe('what is kept', () => {
  it('is by default the first message and the last three', () => {
    given(...talk)
      .when({ type: 'condense', summary: 'S.' })
      .shows('0 S6 3 4 5')
  })

  it('is as many tokens of the newest items as were asked for', () => {
    given(...talk)
      .when({ type: 'truncate', keepTokens: 2 })
      .shows('0 T6 4 5')
    given(...talk)
      .when({ type: 'truncate', keepTokens: 1_000 })
      .then('NothingToHide')
  })

  it('may be nothing', () => {
    given(...talk)
      .when({ type: 'condense', summary: 'S.', keepFirst: 0, keepLast: 0 })
      .shows('S6')
  })

  it('does not count a marker at the beginning as a first message', () => {
    given(...talk, condensed(0, 2))
      .when({ type: 'truncate', keepLast: 1 })
      .shows('T7 5')
  })

  it('at the end is messages: markers among them are not counted', () => {
    given(...talk, condensed(3, 4))
      .when({ type: 'truncate', keepLast: 2 })
      .shows('0 T7 2 S6 5')
  })

  it('may leave nothing to hide', () => {
    given(user('m0')).when({ type: 'truncate', fraction: 1 }).then('NothingToHide')
    given(...talk)
      .when({ type: 'truncate', keepLast: 6 })
      .then('NothingToHide')
  })
})

describe('a cut', () => {
  it('between a call and its result moves to after the round', () => {
    given(...round)
      .when({ type: 'truncate', fraction: 0.2 })
      .shows('0 T6 4 5')
  })

  it('among parallel results moves to after the last', () => {
    given(...round)
      .when({ type: 'truncate', fraction: 0.4 })
      .shows('0 T6 4 5')
  })

  it('stays before a round that is still open', () => {
    given(...talk, user('m6'), assistant([toolUse('a')]), user('late?'), assistant([toolUse('b')]))
      .when({ type: 'truncate', fraction: 1 })
      .shows('0 T10 9')
    given(...talk, user('m6'), assistant([toolUse('a'), toolUse('b')]), user([toolResult('a')]))
      .when({ type: 'truncate', fraction: 1 })
      .shows('0 T9 7 8')
  })

  it('that can only be inside the open round leaves nothing to hide', () => {
    given(user('m0'), assistant([toolUse('a'), toolUse('b')]), user([toolResult('a')]))
      .when({ type: 'truncate', fraction: 1 })
      .then('NothingToHide')
  })

  it('moves on to the end only where the caller keeps no last message', () => {
    const open = [user('m0'), assistant([toolUse('a')]), user([toolResult('a')])]
    given(...open)
      .when({ type: 'truncate', fraction: 0.7, keepLast: 0 })
      .shows('0 T3')
    given(...open)
      .when({ type: 'truncate', fraction: 0.7, keepLast: 1 })
      .then('NothingToHide')
  })

  it('after the kept first messages moves as well', () => {
    given(...round, assistant('m6'))
      .when({ type: 'truncate', keepFirst: 2, keepLast: 1 })
      .shows('0 1 2 3 T7 6')
  })

  it('does not part a call from its result where only a blank message stands between them', () => {
    given(assistant([toolUse('a')]), assistant([]), user([toolResult('a')]))
      .when({ type: 'truncate', keepTokens: 0 })
      .then('NothingToHide')
  })

  it('does not part two parts of one reply from the results of their calls', () => {
    const parts = [
      assistant([toolUse('a')], { requestId: 'r' }),
      assistant([toolUse('b')], { requestId: 'r' }),
      user([toolResult('a'), toolResult('b')]),
    ]
    given(user('m0'), ...parts, user('m4'))
      .when({ type: 'truncate', fraction: 0.3 })
      .shows('0 T5 4')
  })

  it('after a second result of a call does not hide the first', () => {
    given(assistant([toolUse('a')]), user([toolResult('a', 'ok')]), user([toolResult('a', 'ok')]))
      .when({ type: 'truncate', keepTokens: 2 })
      .then('NothingToHide')
  })
})

describe('an explicit slice', () => {
  it('is taken as it is', () => {
    given(...talk)
      .when({ type: 'truncate', covers: { first: 0, last: 5 } })
      .shows('T6')
    given(...talk, condensed(1, 2))
      .when({ type: 'truncate', covers: { first: 6, last: 3 } })
      .shows('0 T7 4 5')
  })

  it('must be of items that are shown', () => {
    given(...talk, condensed(1, 3))
      .when({ type: 'truncate', covers: { first: 2, last: 4 } })
      .then('NotShown')
    given(...talk, condensed(1, 3))
      .when({ type: 'truncate', covers: { first: 0, last: 3 } })
      .then('NotShown')
    given(...talk)
      .when({ type: 'truncate', covers: { first: 1, last: 9 } })
      .then('NotShown')
  })

  it('begins before it ends', () => {
    given(...talk)
      .when({ type: 'truncate', covers: { first: 3, last: 1 } })
      .then('InvalidInput')
  })

  it('that parts a call from its result is refused', () => {
    given(...round)
      .when({ type: 'truncate', covers: { first: 1, last: 1 } })
      .then('UnsafeCut')
    given(...round)
      .when({ type: 'condense', summary: 'S.', covers: { first: 1, last: 2 } })
      .then('UnsafeCut')
    given(...round)
      .when({ type: 'truncate', covers: { first: 2, last: 4 } })
      .then('UnsafeCut')
    given(...round)
      .when({ type: 'truncate', covers: { first: 1, last: 3 } })
      .shows('0 T6 4 5')
  })

  it('that a compaction of the API stands for is taken, whatever was open in it', () => {
    const content = [{ type: 'compaction' as const, content: 'What came before.' }]
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    given(user('m0'), assistant([toolUse('a'), search]), user([toolResult('a')]), assistant('So.'))
      .when({
        type: 'condense',
        covers: { first: 0, last: 1 },
        summary: [{ role: 'assistant', content }],
        method: 'provider',
      })
      .shows('S4 2 3')
  })

  it('that touches an open round is refused', () => {
    given(user('m0'), assistant([toolUse('a')]))
      .when({ type: 'truncate', covers: { first: 1, last: 1 } })
      .then('UnsafeCut')
  })

  it('of truncations only has nothing to truncate, but can be condensed', () => {
    given(...talk, truncated(1, 3))
      .when({ type: 'truncate', covers: { first: 6, last: 6 } })
      .then('NothingToHide')
    given(...talk, truncated(1, 3))
      .when({ type: 'condense', summary: 'S.', covers: { first: 6, last: 6 } })
      .then([{ type: 'Condensed', data: { messagesHidden: 3 } }])
      .shows('0 S7 4 5')
  })
})

describe('an edit in place', () => {
  const cleared = [{ role: 'user' as const, content: [toolResult('a', '(cleared)')] }]

  it('may clear a tool result', () => {
    given(...round)
      .when({ type: 'condense', covers: { first: 2, last: 2 }, summary: cleared })
      .shows('0 1 S6 3 4 5')
  })

  it('may correct a call', () => {
    const summary = [
      { role: 'assistant' as const, content: [toolUse('b'), toolUse('a', { corrected: true })] },
    ]
    given(...round)
      .when({ type: 'condense', covers: { first: 1, last: 1 }, summary })
      .shows('0 S6 2 3 4 5')
  })

  it('that takes a call or its result away is refused', () => {
    const summary = [{ role: 'user' as const, content: [text('Cleared.')] }]
    given(...round)
      .when({ type: 'condense', covers: { first: 2, last: 2 }, summary })
      .then('UnsafeCut')
  })

  it('is a message as any other to what is kept at the beginning and at the end', () => {
    given(...talk, condensed(0, 0, 'An edited task.'))
      .when({ type: 'truncate', keepLast: 1 })
      .shows('S6 T7 5')
    given(...talk, condensed(4, 4, 'An edited answer.'))
      .when({ type: 'truncate', keepLast: 2 })
      .shows('0 T7 S6 5')
  })

  it('is of one item: a slice of more is no edit, although its summary has the same result', () => {
    given(...round)
      .when({ type: 'condense', covers: { first: 2, last: 3 }, summary: cleared })
      .then('UnsafeCut')
  })

  it('that puts text between results, or the results into another role, is refused', () => {
    const content = [toolResult('a'), text('By the way.')]
    for (const role of ['user', 'assistant'] as const)
      given(...round)
        .when({ type: 'condense', covers: { first: 2, last: 2 }, summary: [{ role, content }] })
        .then('UnsafeCut')
  })

  it('of a call whose result came late takes the result along, or is refused; nothing else is', () => {
    const late = [
      user('m0'),
      assistant([toolUse('a')]),
      user('Stop.'),
      assistant('m3'),
      user([toolResult('a')]),
    ]
    const hidden = (first: number, last: number) => ({ type: 'truncate' as const, covers: { first, last } })
    given(...late)
      .when(hidden(1, 3))
      .then('UnsafeCut')
    given(...late)
      .when(hidden(2, 3))
      .shows('0 1 T5 4')
    given(...late)
      .when(hidden(1, 4))
      .shows('0 T5')
  })

  describe('of what ended a turn, where a call was left open whose id a later one has again', () => {
    const calls = assistant([toolUse('a'), toolUse('b')])
    const results = user([toolResult('a'), toolResult('a'), toolResult('b')])
    const ended = [user('m0'), calls, user('Stop.'), assistant('m3'), calls, results]
    const spoken = (role: 'user' | 'assistant', said: string) => [{ role, content: [text(said)] }]

    it.each([
      ['by the model', { covers: { first: 2, last: 2 } }, spoken('assistant', 'S.')],
      ['by the model, for a slice', { covers: { first: 2, last: 3 } }, spoken('assistant', 'S.')],
      ['blank', { covers: { first: 2, last: 3 } }, spoken('user', ' ')],
      ['blank, for what is chosen', { keepFirst: 2, keepLast: 2 }, spoken('user', ' ')],
    ])('is refused, as the first call would get the result: a summary %s', (_, selection, summary) => {
      given(...ended)
        .when({ type: 'condense', summary, ...selection })
        .then('UnsafeCut')
    })

    it('is allowed with a word of the user’s, and where the ids differ', () => {
      const covers = { first: 2, last: 3 }
      given(...ended)
        .when({ type: 'condense', summary: spoken('user', 'S.'), covers })
        .shows('0 1 S6 4 5')
      given(...ended.with(1, assistant([toolUse('c')])))
        .when({ type: 'condense', summary: spoken('assistant', 'S.'), covers })
        .shows('0 1 S6 4 5')
    })
  })

  it('or a truncation of a blank message inside a round is refused: a text would come between', () => {
    const blank = [user('m0'), assistant([toolUse('a')]), user(' '), user([toolResult('a')])]
    given(...blank)
      .when({ type: 'truncate', covers: { first: 2, last: 2 } })
      .then('UnsafeCut')
    given(...blank)
      .when({ type: 'condense', summary: 'S.', covers: { first: 2, last: 2 } })
      .then('UnsafeCut')
  })
})

describe('a marker', () => {
  it('says how many messages it hides at all levels, and about how many tokens', () => {
    given(...talk, condensed(1, 3))
      .when({ type: 'truncate', covers: { first: 6, last: 4 }, reason: 'too long' })
      .then([
        {
          type: 'Truncated',
          data: { messagesHidden: 4, reason: 'too long', tokens: { after: 0 } },
        },
      ])
  })

  it('holds the summary as it was given: text and blocks are one user message, messages are themselves', () => {
    const content = [text('one'), text('two')]
    const covers = { first: 1, last: 2 }
    given(...talk)
      .when({ type: 'condense', covers, summary: content, method: 'client', origin: { model: 'm' } })
      .then([
        {
          type: 'Condensed',
          data: { summary: [{ role: 'user', content }], method: 'client', origin: { model: 'm' } },
        },
      ])
    const messages = [{ role: 'assistant' as const, content }]
    given(...talk)
      .when({ type: 'condense', covers, summary: messages })
      .then([{ type: 'Condensed', data: { summary: messages } }])
  })

  it('carries a view, unless fewer events came since the last one than the view would have segments', () => {
    let log = logOf(...talk)
    log = apply(log, { type: 'truncate', covers: { first: 1, last: 1 } })
    log = apply(log, { type: 'truncate', covers: { first: 3, last: 3 } })
    const views = log.slice(6).map((event) => viewIn(event))
    expect(views).toEqual([viewOf(fold(log, 6).layout), undefined])
  })

  it('that is restored leaves a view, however few events came since the last one', () => {
    const hidden = apply(logOf(...talk), { type: 'truncate', covers: { first: 1, last: 1 } })
    const log = apply(hidden, { type: 'restore', marker: 6 })
    expect(viewIn(log[7] ?? user(''))).toEqual({
      items: [{ first: 0, last: 5 }],
      restored: [{ after: 6, before: 7 }],
    })
  })

  it('costs O(1) of views: hundreds of results cleared one by one hold a few segments each', () => {
    const results = Math.max(50, runs(300))
    const events = Array.from({ length: results }, (_, n) => [
      assistant([toolUse(`c${n}`)]),
      user([toolResult(`c${n}`)]),
    ])
    let log = logOf(user('m0'), ...events.flat())
    for (let n = 0; n < results; n++) {
      const covers = { first: 2 * n + 2, last: 2 * n + 2 }
      log = apply(log, {
        type: 'condense',
        covers,
        summary: [{ role: 'user', content: [toolResult(`c${n}`, '-')] }],
      })
    }
    const segments = log.reduce((sum, event) => sum + (viewIn(event)?.items.length ?? 0), 0)
    expect(log).toHaveLength(3 * results + 1)
    expect(segments).toBeLessThan(4 * results)
  })
})
