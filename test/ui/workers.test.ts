import { expect, test } from 'vitest'
import type { BoardStep, BoardWorker } from '../../src/ui/source/answers.ts'
import { boardOf, healthOf, notesOf } from '../../src/ui/workers/rows.ts'

const step = (
  conversation: string,
  state: BoardStep['state'],
  since: string,
  more: Partial<BoardStep> = {},
): BoardStep => ({
  conversation,
  state,
  step: `${conversation}@0`,
  since: `2026-01-01T00:00:${since}.000Z`,
  attempt: 1,
  errors: [],
  ...more,
})

test('steps are told by what has to happen next, the longest waiting first', () => {
  const steps = [
    step('a', 'open', '09'),
    step('b', 'claimed', '01'),
    step('c', 'waiting', '05'),
    step('d', 'open', '02'),
    step('e', 'parked', '03'),
  ]
  const board = boardOf(steps)
  const ids = (all: readonly BoardStep[]) => all.map(({ conversation }) => conversation)
  expect(Object.fromEntries(Object.entries(board).map(([name, all]) => [name, ids(all)]))).toEqual({
    waiting: ['c'],
    parked: ['e'],
    inProgress: ['b'],
    open: ['d', 'a'],
  })
})

test('a step says why nobody takes it, how often it was tried and what came of that', () => {
  const held = {
    held: 'limit',
    attempt: 3,
    errors: ['overloaded', 'refused'],
    tenant: 'acme',
    priority: 2,
  } as const
  expect(notesOf(step('a', 'open', '00', held))).toEqual([
    'its tenant has reached its limit',
    'attempt 3',
    'last error: refused',
    'for acme',
    'priority 2',
  ])
  expect(notesOf(step('a', 'claimed', '00'))).toEqual([])
})

test('a worker that says nothing for a minute and a half is silent, unless somebody has paused it', () => {
  const now = Date.parse('2026-01-01T01:00:00.000Z')
  const worker = (seconds: number, more: Partial<BoardWorker> = {}): BoardWorker => ({
    worker: 'w',
    heard: new Date(now - seconds * 1_000).toISOString(),
    paused: false,
    steps: [],
    ...more,
  })
  const steps = [{ conversation: 'a', step: 'a@0', attempt: 1, since: '2026-01-01T00:00:00.000Z' }]
  expect(
    [
      worker(5),
      worker(5, { steps }),
      worker(90, { steps }),
      worker(91, { steps }),
      worker(91, { paused: true }),
    ].map((one) => healthOf(one, now)),
  ).toEqual(['idle', 'working', 'working', 'silent', 'paused'])
})
