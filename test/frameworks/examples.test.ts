import { expect, test } from 'vitest'
import { ended, startHeard } from '../support/node.ts'

test.for<[example: string, lines: readonly string[]]>([
  [
    'ai-sdk/chat',
    [
      'shown after the reload:  A bracket is missing in line 60.',
      'saved: assistant: A bracket is missing in line 60.',
      'found: “bracket” at position 1',
    ],
  ],
  ['ai-sdk/record', ['2 receipts, 0 problems']],
  ['langgraph/main', ['2 abandoned assistant: Deleted.', '4 active    user: Be careful.']],
  ['mcp/main', ['- position 1, assistant, hidden by 3: It listens on port 54329.']],
  [
    'openai-agents/main',
    ['3 abandoned assistant: I see 2 questions.', '6 active    assistant: I see 2 questions.'],
  ],
])('the example %s runs without a network', async ([example, lines]) => {
  const { output, code } = await ended(startHeard(`../examples/${example}.ts`))
  expect(output.split('\n')).toEqual(expect.arrayContaining([...lines]))
  expect(code).toBe(0)
})
