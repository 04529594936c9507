import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { fillers } from '../../src/projections/render/transcript.ts'
import { render, type Rendered } from '../../src/projections/render/render.ts'
import { assistant, logOf, text, thinking, toolResult, toolUse, user } from '../support/log.ts'

const rendered = (events: readonly Event[]): Rendered => render(effective(logOf(...events)))
const hello = user('Hello.')

describe('a history that is too long for one request', () => {
  it('loses its beginning, up to a message of the user', () => {
    const pair = [hello, assistant('Yes.')]
    const thought = assistant([thinking('s'), text('Hm.')])
    const { messages, repairs, awaits } = rendered([
      ...Array.from({ length: 50_001 }, () => pair).flat(),
      hello,
      thought,
      user('Now?'),
    ])
    // Of 100,005 items the first message of the user in the newer half is at 50,004.
    expect(messages).toHaveLength(50_001)
    expect([messages[0]?.role, messages.at(-1)?.content, awaits]).toEqual(['user', [text('Now?')], 'model'])
    expect(messages.at(-2)?.content).toEqual([text('Hm.')])
    expect(repairs).toMatchObject([
      {
        kind: 'history-cut',
        position: 50_004,
        detail: 'the 50004 items before 50004 are left out: a request holds 100000 messages at most',
      },
      { kind: 'thinking-dropped', position: 100_003 },
    ])
  })

  it('is cut in the middle where no message of the user begins the newer half', () => {
    const rounds = Array.from({ length: 50_000 }, (_, n) => [
      assistant([toolUse(`c${n}`)]),
      user([toolResult(`c${n}`)]),
    ])
    const { messages, repairs } = rendered([hello, ...rounds.flat()])
    expect(repairs[0]).toMatchObject({ kind: 'history-cut', position: 50_001 })
    expect(messages[0]?.content).toEqual([text(fillers.noBeginning)])
    expect(messages).toHaveLength(50_001)
  })
})
