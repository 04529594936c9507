import { expect, test } from 'vitest'
import {
  commandOf,
  describeDone,
  type ActDraft,
  eventWords,
  lackOf,
  titleOf,
} from '../../src/ui/acts/acts.ts'
import { togglePin } from '../../src/ui/acts/toggle-pin.ts'
import {
  figuresOf,
  newRepairs,
  offBecause,
  repairIn,
  formatSigned,
  staleIn,
  warningOf,
  type WorkStatus,
} from '../../src/ui/acts/preview.ts'
import type { ActPreview, ContextStats } from '../../src/ui/source/answers.ts'

const drafts: readonly (readonly [ActDraft, string])[] = [
  [{ act: 'rewind', to: Number.NaN, reason: '' }, 'Give a position.'],
  [{ act: 'fork', at: 3, id: ' ' }, 'Give the new conversation an id.'],
  [{ act: 'truncate', first: 1, last: Number.NaN, reason: '' }, 'Give the first and the last position.'],
  [{ act: 'truncate', first: 5, last: 2, reason: '' }, 'The first position comes after the last.'],
  [{ act: 'condense', first: 1, last: 2, summary: '\n' }, 'Write what the model is to see instead.'],
  [{ act: 'restore', marker: -1 }, 'Give the position of a marker.'],
]
test.each(drafts)('%o lacks something', (draft, lack) => {
  expect(lackOf(draft)).toBe(lack)
})

test('a rewind to the very beginning lacks nothing', () => {
  expect(lackOf({ act: 'rewind', to: -1, reason: '' })).toBeUndefined()
})

test('a draft is a command of the API', () => {
  expect(commandOf({ act: 'rewind', to: 118, reason: ' wrong file ' })).toEqual({
    type: 'rewind',
    to: 118,
    reason: 'wrong file',
  })
  expect(commandOf({ act: 'rewind', to: 118, reason: '' })).toEqual({ type: 'rewind', to: 118 })
  expect(commandOf({ act: 'condense', first: 2, last: 9, summary: 'All is well.' })).toEqual({
    type: 'condense',
    covers: { first: 2, last: 9 },
    summary: 'All is well.',
    method: 'manual',
  })
  expect(commandOf({ act: 'fork', at: 5, id: ' retry ' })).toEqual({ type: 'fork', id: 'retry', at: 5 })
})

test('an undo is called one, though it is a rewind', () => {
  const undo: ActDraft = { act: 'rewind', to: 117, reason: 'undo of 118', way: 'undo' }
  expect([titleOf(undo), describeDone(undo)]).toEqual(['Undo', 'Undone: at 117'])
  expect(describeDone({ act: 'rewind', to: -1, reason: '' })).toBe('Rewound to the beginning')
})

test('an event that would be written is told in words', () => {
  expect(
    [
      { type: 'Rewound', data: { to: 1200 } },
      { type: 'Truncated', data: { covers: { first: 3, last: 80 }, messagesHidden: 1 } },
      { type: 'Restored', data: { marker: 147 } },
      { type: 'Configured', data: {} },
    ].map(eventWords),
  ).toEqual(['Rewound to 1,200', 'Truncated 3–80, which hides 1 message', 'Restored 147', 'Configured'])
})

const preview: ActPreview = {
  conversation: 'a',
  position: 322,
  events: [{ type: 'Rewound', data: { to: 100 } }],
  before: { items: 163, tokens: 132_748, estimated: 0, repairs: { 'roles-merged': 2 }, awaits: 'user' },
  after: {
    items: 101,
    tokens: 151_504,
    estimated: 0,
    repairs: { 'roles-merged': 1, 'thinking-dropped': 3, 'odd-thing': 2 },
    awaits: 'model',
  },
}

test('a dry run says how many items and tokens there are before and after', () => {
  expect(figuresOf(preview)).toEqual([
    { name: 'items', before: '163', after: '101', change: '−62' },
    { name: 'tokens, counted', before: '132,748', after: '151,504', change: '+18,756' },
  ])
  const { before, after } = preview
  const named = (estimated: readonly [number, number]): string | undefined =>
    figuresOf({
      ...preview,
      before: { ...before, estimated: estimated[0] },
      after: { ...after, estimated: estimated[1] },
    })[1]?.name
  expect(named([0, 12])).toBe('tokens, in part estimated')
  expect(named([before.tokens, after.tokens])).toBe('tokens, estimated')
  expect(formatSigned(0)).toBe('')
})

test('a dry run names only the repairs that it adds, unknown ones by their kind', () => {
  expect(newRepairs(preview)).toEqual(['3 blocks of thinking are left out', '2 × odd thing'])
  expect(repairIn('call-answered', 1)).toBe('1 call without a result is answered')
})

test('who acts on a conversation that workers serve is told that one answers at once', () => {
  const step: WorkStatus['steps'][number] = { conversation: 'a', state: 'claimed', holder: 'worker-3' }
  const warning = (
    steps: readonly (typeof step)[],
    workers: number,
    awaits: ContextStats['awaits'] = 'user',
  ) => warningOf('a', { steps, workers }, { ...preview.after, awaits })
  expect(warning([step], 1)).toContain('worker-3 is answering')
  expect(warning([{ ...step, state: 'parked' }], 0)).toContain('one answers from there at once')
  expect(warning([{ ...step, conversation: 'b' }], 2, 'model')).toContain('2 workers may answer')
  expect(warning([], 2)).toBeUndefined()
  expect(warning([], 0, 'model')).toBeUndefined()
})

test('a stale command says how much came meanwhile', () => {
  expect(staleIn({ status: 412, after: 287, last: 290 })).toEqual({ came: 3, last: 290 })
  expect(staleIn({ status: 409, tag: 'NotShown' })).toBeUndefined()
})

test('what cannot be written at all has its reason', () => {
  const session = { scopes: ['read', 'write'], isReadOnly: false, store: 'memory:' }
  expect(offBecause(false, undefined)).toBe('This is a saved file: it is read-only.')
  expect(offBecause(true, { ...session, isReadOnly: true })).toBe('This server is read-only.')
  expect(offBecause(true, { ...session, scopes: ['read'] })).toBe('Your token is read-only.')
  expect([offBecause(true, session), offBecause(true, undefined)]).toEqual([undefined, undefined])
})

test('a pin is set once, and taken away by setting it again', () => {
  expect(togglePin([3, 90], 12)).toEqual({ pins: [3, 12, 90], isPinned: true })
  expect(togglePin([3, 12], 3)).toEqual({ pins: [12], isPinned: false })
})
