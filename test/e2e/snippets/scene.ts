// What an example of the docs may name without declaring it, and the files that it may read. Every example runs in a process and a
// directory of its own; its models are asked at the stand-in.
import { writeFile } from 'node:fs/promises'
import { openStore } from 'palimpsest'

export { readFile } from 'node:fs/promises'
export { copyConversations, openStore } from 'palimpsest'

await writeFile('parser.ts', 'let open = "')

export const store = await openStore('sqlite:laptop.db')
/** Its newest message, at position 7, is the result of the call `toolu_1`. */
export const chat = store.conversation('task-42')
for (const line of [1, 40, 80])
  await chat.append([
    { role: 'user', content: `Why does the parser fail? Look at line ${line} of parser.ts.` },
    { role: 'assistant', content: `There is a string that begins in line ${line} and is not closed there.` },
  ])
await chat.append([
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'read_file', input: { path: 'parser.ts' } }],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'let open = "' }] },
])
