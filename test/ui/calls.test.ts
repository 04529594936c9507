import { describe, expect, test } from 'vitest'
import { openIn, openText, toggleName } from '../../src/ui/calls/open.ts'
import { requestRows } from '../../src/ui/calls/changes.ts'
import {
  type CallItem,
  isPending,
  latencyOf,
  medianOf,
  rowsOf,
  sumsOf,
  turnsOf,
} from '../../src/ui/calls/turns.ts'
import { clockOf, spansOf } from '../../src/ui/calls/waterfall.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()
const start = Date.UTC(2026, 0, 1)

interface Given {
  readonly usage?: object
  readonly step?: object
  readonly number?: number
}
const item = (position: number, { usage, step, number }: Given = {}): CallItem => ({
  position,
  kind: 'reply',
  ...(number !== undefined && { number, receipt: { position: position - 1, digest: '' } }),
  origin: { model: 'claude-opus-5-5', stopReason: 'end_turn', ...(usage && { usage }) },
  step: { time: at(position), begun: at(position - 1), tools: [], ...step },
})
const turn = (from: number, prompt = 'Why?') => ({ turn: { from, position: from, prompt, time: at(from) } })

describe('the table of calls', () => {
  test('turns sum their calls', () => {
    const usage = { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 5 }
    const rows = rowsOf([
      item(1, { number: 1, usage, step: { ...turn(0), usd: 0.5 } }),
      item(3, {
        number: 2,
        usage,
        step: { ...turn(0), usd: 0.25, tools: [{ call: 'a', tool: 'b', isError: true }] },
      }),
      item(6, { usage, step: { ...turn(5, 'Next.'), abandoned: 8 } }),
    ])
    const [first, second] = turnsOf(rows)
    expect(first).toMatchObject({
      nth: 1,
      prompt: 'Why?',
      first: 0,
      last: 3,
      sums: { calls: 2, fresh: 20, read: 180, output: 10, usd: 0.75, errors: 1, receipts: 2 },
      abandoned: undefined,
    })
    expect(second).toMatchObject({ nth: 2, abandoned: 8, sums: { usd: undefined, receipts: 0 } })
    expect(sumsOf(rows).calls).toBe(3)
  })

  test('a reply that an import stored in two messages is one call, with the tokens that were counted last', () => {
    const rows = rowsOf([
      item(1, { usage: { input_tokens: 10, output_tokens: 1 }, step: turn(0) }),
      item(2, { usage: { input_tokens: 10, output_tokens: 80 }, step: { ...turn(0), isPart: true } }),
    ])
    expect(rows).toMatchObject([{ position: 1, usage: { output: 80 }, ended: start + 2_000 }])
  })

  test('a call whose events have no times has no latency', () => {
    const [known, unknown] = rowsOf([item(1), item(2, { step: { begun: undefined } })])
    expect(known && latencyOf(known)).toBe(1_000)
    expect(unknown && latencyOf(unknown)).toBeUndefined()
    expect([medianOf([]), medianOf([3, 1]), medianOf([5, 1, 2])]).toEqual([undefined, 2, 2])
  })

  test('few calls are all open; of many, the turn that waits for somebody, else the last one', () => {
    const many = (step: object) =>
      turnsOf(
        rowsOf(
          [...Array(60).keys()].map((n) =>
            item(n, { step: { ...turn(n < 30 ? 0 : 30), ...(n === 5 && step) } }),
          ),
        ),
      )
    const few = turnsOf(rowsOf([item(1, { step: turn(0) }), item(5, { step: turn(4) })]))
    expect([...openIn('', few)]).toEqual(['t0', 't4'])
    expect([...openIn('?open=none', few)]).toEqual([])
    expect([...openIn('?open=p1', few)]).toEqual(['p1', 't0', 't4'])
    expect([...openIn('', many({}))]).toEqual(['t30'])
    const wait = { why: 'approval', since: at(5) }
    const waiting = many({ tools: [{ call: 'a', tool: 'b', wait }] })
    expect([...openIn('', waiting)]).toEqual(['t0'])
    expect(waiting[0]?.waits.map(isPending)).toEqual([true])
    expect(openText(toggleName(new Set(['t0', 'p1']), 't0', few))).toBe('none')
  })
})

describe('the steps of a turn', () => {
  const steps = (tools: readonly object[], now = start) => {
    const [only] = turnsOf(rowsOf([item(1, { number: 1, step: { ...turn(0), tools } })]))
    if (!only) throw new Error('there is no turn')
    return spansOf(only, { subagents: new Map(), noteOf: () => '', now })
  }

  test('are the call, its tools until their results, and a wait until its decision', () => {
    const wait = { why: 'approval', since: at(2), decision: 'approved', by: 'ann', time: at(5) }
    const spans = steps([
      { call: 'a', tool: 'grep', time: at(2) },
      { call: 'b', tool: 'publish', time: at(9), started: at(6), wait },
    ])
    expect(spans.map(({ kind, label, from, to }) => [kind, label, from - start, to - start])).toEqual([
      ['assistant', 'Call 1', 0, 1_000],
      ['call', 'grep', 1_000, 2_000],
      ['approval', 'publish', 2_000, 5_000],
      ['call', 'publish', 6_000, 9_000],
    ])
    expect(spans[2]?.note).toMatch(/^approved by ann at /)
  })

  test('a wait without a decision lasts until now', () => {
    const wait = { why: 'approval', since: at(2) }
    const [, waiting] = steps([{ call: 'b', tool: 'publish', wait }], start + 60_000)
    expect(waiting).toMatchObject({ kind: 'approval', to: start + 60_000, isOpen: true })
  })

  test('the clock leaves out long times in which nothing happens', () => {
    const clock = clockOf([
      { from: start, to: start + 10_000 },
      { from: start + 86_400_000, to: start + 86_410_000 },
    ])
    expect(clock.cuts.map(({ ms }) => ms)).toEqual([86_390_000])
    const places = [0, 10_000, 86_400_000, 86_410_000].map((ms) => clock.placeOf(start + ms))
    expect(places.map((place) => Math.round(place * 100))).toEqual(
      [0, 48, 52, 100].map((n) => expect.closeTo(n, -1)),
    )
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places[3]).toBe(1)
  })
})

test('a request has rows for what stayed, what is gone and why, and each new message', () => {
  const entry = (position: number, by?: number) => ({ position, kind: 'message', status: 'active', by })
  const rows = requestRows({
    changes: [
      { change: 'kept', entry: entry(0) },
      { change: 'disappeared', entry: entry(1, 5) },
      { change: 'disappeared', entry: entry(2, 5) },
      { change: 'appeared', entry: entry(5) },
      { change: 'kept', entry: entry(3) },
      { change: 'kept', entry: entry(4) },
    ],
  } as unknown as Parameters<typeof requestRows>[0])
  expect(
    rows.map((row) => (row.type === 'new' ? ['new', row.entry.position] : [row.type, row.first, row.last])),
  ).toEqual([
    ['kept', 0, 0],
    ['gone', 1, 2],
    ['new', 5],
    ['kept', 3, 4],
  ])
})
