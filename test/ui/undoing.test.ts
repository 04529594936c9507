import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Conversation } from '../../src/index.ts'
import { type ActEvent, undoCommand, undoStacksOf } from '../../src/ui/acts/undo-stacks.ts'
import { runs } from '../support/runs.ts'
import { opened } from '../support/stores.ts'

const done = (...types: readonly string[]): readonly ActEvent[] =>
  types.map((text, position) => {
    const [type = '', reason] = text.split(': ')
    return { position, type, data: { reason } }
  })

test('what was said cannot be undone, and neither can what came before it', () => {
  expect(undoStacksOf(done('MessageAppended', 'Condensed', 'MessageAppended'))).toEqual({
    undo: [],
    redo: [],
  })
})

test('undo goes further back each time, and redo forward again', () => {
  const acts = ['MessageAppended', 'Truncated', 'Rewound']
  expect(undoCommand(undoStacksOf(done(...acts)), 'undo')).toEqual({
    type: 'rewind',
    to: 1,
    reason: 'undo of 2',
  })
  expect(undoStacksOf(done(...acts, 'Rewound: undo of 2'))).toEqual({ undo: [1], redo: [2] })
  const undone = done(...acts, 'Rewound: undo of 2', 'Rewound: undo of 1')
  expect(undoStacksOf(undone)).toEqual({ undo: [], redo: [2, 1] })
  expect(undoCommand(undoStacksOf(undone), 'redo')).toEqual({ type: 'rewind', to: 1, reason: 'redo of 1' })
})

test('another act ends what could be done again', () => {
  const acts = done('MessageAppended', 'Truncated', 'Rewound: undo of 1', 'Condensed')
  expect(undoStacksOf(acts)).toEqual({ undo: [3], redo: [] })
})

const eventsOf = async (chat: Conversation): Promise<readonly ActEvent[]> => {
  const events: ActEvent[] = []
  for await (const { position, type, data } of chat.events())
    events.push({ position, type, data: 'reason' in data ? { reason: data.reason } : {} })
  return events
}

test('undoing everything, and doing it all again, shows the model what it saw at each step', async () => {
  const act = fc.oneof(
    fc.record({ type: fc.constant('rewind' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ type: fc.constantFrom('truncate' as const, 'restore' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 7 }), async (acts) => {
      const store = await opened('memory:')
      const chat = store.conversation('a')
      for (const role of ['user', 'assistant', 'user', 'assistant', 'user', 'assistant'] as const)
        await chat.append([{ role, content: role }])
      const shown = async () => (await chat.context()).items.map(({ position }) => position)
      const carriedOut = async (one: (typeof acts)[number]): Promise<unknown> => {
        if (one.type === 'rewind') return chat.rewind({ to: Math.round(one.share * (await chat.position())) })
        if (one.type === 'truncate') return chat.truncate({ keepFirst: 1, keepLast: 1 })
        const { items } = await chat.context()
        return chat.restore({ marker: items.find(({ kind }) => kind !== 'message')?.position ?? 0 })
      }
      const seen = [await shown()]
      for (const one of acts)
        await carriedOut(one).then(
          async () => seen.push(await shown()),
          () => 'refused: it changed nothing',
        )
      const go = async (way: 'undo' | 'redo'): Promise<boolean> => {
        const command = undoCommand(undoStacksOf(await eventsOf(chat)), way)
        if (command) await chat.rewind({ to: command.to, reason: command.reason })
        return command !== undefined
      }
      for (const before of seen.slice(0, -1).toReversed()) {
        expect(await go('undo')).toBe(true)
        expect(await shown()).toEqual(before)
      }
      expect(await go('undo')).toBe(false)
      for (const after of seen.slice(1)) {
        expect(await go('redo')).toBe(true)
        expect(await shown()).toEqual(after)
      }
      expect(await go('redo')).toBe(false)
    }),
    { numRuns: runs(60) },
  )
})
