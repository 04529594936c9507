import { describe, expect, it } from 'vitest'
import { manageContext } from '../../../src/agent/context/policy/policy.ts'
import { openCalls } from '../../../src/agent/turn/calls/open-calls.ts'
import { limitResults } from '../../../src/agent/context/policy/result-limit.ts'
import { answerOf } from '../../../src/agent/turn/results/tool-output.ts'
import { effective } from '../../../src/projections/effective.ts'
import { right } from '../../support/either.ts'
import { eventAt, text, toolResult, user } from '../../support/log.ts'

// Longer than a call stack is deep and than a call has arguments.

const settings = { window: 200_000 }

describe('a conversation of 130,000 messages of one role', () => {
  const now = effective(Array.from({ length: 130_000 }, (_, n) => eventAt(user(`m${n}`), n)))

  it('is counted, and made to fit', () => {
    expect(openCalls(now)).toEqual([])
    expect(right(manageContext(now, settings, { canCondense: true })).type).toBe('condense')
  })
})

describe('a message of 130,000 blocks', () => {
  const blocks = Array.from({ length: 130_000 }, (_, n) => text(`b${n}`))

  it('is taken from a tool and cut down', async () => {
    expect((await answerOf({ content: blocks })).content).toHaveLength(130_000)
    const result = toolResult('a', blocks)
    expect(limitResults([result], { bytes: 1_000, rest: 'recorded' })).toHaveLength(1)
  })

  it('that are results is looked through', () => {
    const results = Array.from({ length: 130_000 }, (_, n) => toolResult(`t${n}`, 'x'))
    expect(limitResults(results, { bytes: 1_000, rest: 'recorded' })).toBeUndefined()
  })
})
