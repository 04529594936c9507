import { describe, expect, it } from 'vitest'
import { nextRequest } from '../../../src/agent/context/summary/parts.ts'
import { sumOfUsage } from '../../../src/agent/context/summary/reply.ts'
import {
  currentSummarizer,
  itemsLeft,
  type SummaryOptions,
} from '../../../src/agent/receipts/summary-request.ts'
import type { Event } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { left, right } from '../../support/either.ts'
import { assistant, configured, logOf, toolResult, toolUse, truncated, user } from '../../support/log.ts'

/** Text that is estimated as so many tokens. */
const words = (tokens: number): string => 'x'.repeat(Math.floor(tokens * 3.3))
const said = (tokens: number): Event => user(words(tokens))
const replied = (tokens: number): Event => assistant(words(tokens))
const five = [said(100), replied(100), said(100), replied(100), said(100)]

/** What the next request is of, in a window with room for so many tokens besides some of system prompt and instructions. */
const next = (
  events: readonly Event[],
  room: number,
  more: Partial<SummaryOptions> & { correction?: number } = {},
) => {
  const now = effective(logOf(...events))
  const { correction = 1, ...options } = more
  const covers = { first: now.items[0]?.position ?? 0, last: now.items.at(-1)?.position ?? 0 }
  const wanted: SummaryOptions = {
    summarizer: currentSummarizer,
    covers,
    images: true,
    instructions: 'Shortly.',
    ...options,
  }
  return nextRequest(now, wanted, { allowed: room + 80, correction })
}
const covered = (...given: Parameters<typeof next>) => right(next(...given)).covers

describe('the next request', () => {
  it('is for all that is left, if it fits', () => {
    expect(covered(five, 500)).toEqual({ first: 0, last: 4 })
    expect(covered(five, 210, { parts: [{ last: 2, text: '' }] })).toEqual({ first: 0, last: 4 })
  })

  it('is for as much as fits, else', () => {
    expect(covered(five, 420)).toEqual({ first: 0, last: 3 })
    expect(covered(five, 120)).toEqual({ first: 0, last: 0 })
    expect(covered(five, 230, { parts: [{ last: 0, text: '' }] })).toEqual({ first: 0, last: 2 })
  })

  it('is smaller where estimates are known to be too low, or the tools are large', () => {
    expect(covered(five, 420, { correction: 1.3 })).toEqual({ first: 0, last: 2 })
    const tools = [{ name: 'run', description: words(100), input_schema: {} }]
    const called = [...five.slice(0, 3), assistant([toolUse('a')]), user([toolResult('a')]), replied(100)]
    expect(covered(called, 500)).toEqual({ first: 0, last: 5 })
    expect(covered([configured({ tools }), ...called], 500)).toEqual({ first: 1, last: 3 })
  })

  it('takes a call with its result, and to the end of the slice where the call waits', () => {
    const called = [
      said(50),
      assistant([toolUse('a'), toolUse('b')]),
      user([toolResult('b')]),
      user([toolResult('a', words(90))]),
    ]
    expect(covered(called, 100)).toEqual({ first: 0, last: 0 })
    expect(covered([said(50), replied(50), assistant([toolUse('a')])], 100)).toEqual({ first: 0, last: 1 })
  })

  it('goes to the end of the slice, whatever a truncation there hides', () => {
    const events = [...five, truncated(3, 4)]
    const parts = [{ last: 1, text: '' }]
    expect(covered(events, 150, { parts })).toEqual({ first: 0, last: 5 })
    const long = [said(10), said(1_000), replied(10), truncated(2, 2)]
    expect(covered(long, 300, { parts: [{ last: 0, text: '' }] })).toEqual({ first: 0, last: 3 })
    const now = effective(logOf(...events))
    expect(itemsLeft(now, { covers: { first: 0, last: 5 }, parts })).toMatchObject([{ position: 2 }])
  })

  it('cuts texts of one item that is too long, as little as need be', () => {
    const { longest = 0, covers } = right(next([said(1_000), said(10)], 400))
    expect(covers.last).toBe(0)
    expect(longest).toBeGreaterThan(800)
    expect(longest).toBeLessThan(400 * 3.3)
  })

  it('cannot be where nothing helps', () => {
    const error = left(
      next([user(Array.from({ length: 90 }, () => ({ type: 'text', text: words(10) })))], 300),
    )
    expect(error).toMatchObject({
      _tag: 'SummaryFailed',
      reason: 'too_large',
      message: expect.stringMatching(/position 0 through 0.*380 tokens/),
    })
  })
})

it('two usages are added up by their numbers, the later one tells the rest', () => {
  const one = { input_tokens: 1, cache: { read: 2, kept: 1 }, service_tier: 'priority', only: 3, list: [1] }
  const other = {
    input_tokens: 10,
    cache: { read: 20, ttl: '5m' },
    service_tier: 'standard',
    list: [2],
    late: null,
  }
  expect(sumOfUsage(one, other)).toEqual({
    input_tokens: 11,
    cache: { read: 22, kept: 1, ttl: '5m' },
    service_tier: 'standard',
    only: 3,
    list: [2],
    late: null,
  })
})
