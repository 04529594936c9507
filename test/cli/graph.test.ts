import { openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { graphRows } from '../../src/cli/views/graph.ts'

/** Draws what becomes of `say` (a message) and rewinds to the positions given. */
const drawn = async (...steps: readonly ('say' | number)[]): Promise<readonly string[]> => {
  const store = await openStore('memory:')
  const chat = store.conversation('c')
  for (const step of steps)
    await (step === 'say' ? chat.append({ role: 'user', content: 'x' }) : chat.rewind({ to: step }))
  const rows = graphRows(await chat.timeline(), ({ event, onPath }) =>
    event.type === 'Rewound' ? '×' : onPath ? '●' : '○',
  )
  await store.close()
  return rows.map(({ left, node, right }) => (left + node + right).trimEnd())
}

describe('the branch graph', () => {
  test('a conversation without rewinds is one line', async () => {
    expect(await drawn('say', 'say')).toEqual(['●', '●'])
  })

  test('a rewind leaves a branch, and the next message begins another beside it', async () => {
    expect(await drawn('say', 'say', 0, 'say', 'say')).toEqual(['●─╮', '○ │', '× │', '  ●', '  ●'])
  })

  test('several branches leave from one event', async () => {
    expect(await drawn('say', 'say', 0, 'say', 0, 'say')).toEqual([
      '●─┬─╮',
      '○ │ │',
      '× │ │',
      '  ○ │',
      '  × │',
      '    ●',
    ])
  })

  test('a redo goes on with the branch that was left', async () => {
    expect(await drawn('say', 'say', 0, 'say', 1, 'say')).toEqual(['●─╮', '● │', '× │', '│ ○', '│ ×', '●'])
  })

  test('a lane is used again when its branch has ended', async () => {
    expect(await drawn('say', 'say', 0, 'say', 'say', 3, 'say')).toEqual([
      '●─╮',
      '○ │',
      '× │',
      '╭─●',
      '│ ○',
      '│ ×',
      '●',
    ])
  })

  test('what is rewound to the empty conversation begins anew', async () => {
    expect(await drawn('say', -1, 'say')).toEqual(['○', '×', '●'])
  })

  test('many branches share the last lane', async () => {
    const rows = await drawn('say', ...Array.from({ length: 20 }, () => ['say', 0] as const).flat(), 'say')
    expect(Math.max(...rows.map((row) => row.length))).toBe(23)
  })
})
