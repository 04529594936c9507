import { expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { positionsOf } from '../../../src/agent/receipts/message-positions.ts'
import { atEnd } from '../../support/at-end.ts'

test('the messages of a request have the positions of the events that they come from, in both forms', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const chat = store.conversation('a')
  const call = { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a.ts' } } as const
  await chat.append([
    { role: 'user', content: 'Why?' },
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'Look.' }] },
  ])
  const { items } = await chat.context()
  const { messages } = await chat.render()
  // The renderer joins two messages of one role.
  expect(positionsOf(messages, items)).toEqual([[0, 1], [2], [3]])
  expect(
    positionsOf(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
        { role: 'assistant', tool_calls: [{ id: 'call_1', function: { name: 'read', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'Look.' },
      ],
      items,
    ),
  ).toEqual([[], [0], [2], [3]])
})
