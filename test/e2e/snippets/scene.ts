// What an example of the docs may name without declaring it, and the files that it may read. Every example runs in a process and a
// directory of its own; its models are asked at the stand-in.
import { writeFile } from 'node:fs/promises'
import { openStore } from 'palimpsest'

export { readFile } from 'node:fs/promises'
export { copyConversations, isError, openStore, registerStore, resultReader } from 'palimpsest'

await writeFile('parser.ts', 'let open = "')

export const store = await openStore('sqlite:laptop.db')
/** Six messages, and at position 6 a question that waits. */
export const chat = store.conversation('task-42')
for (const line of [1, 40, 80])
  await chat.append([
    { role: 'user', content: `Why does the parser fail? Look at line ${line} of parser.ts.` },
    { role: 'assistant', content: `There is a string that begins in line ${line} and is not closed there.` },
  ])
await chat.append({ role: 'user', content: 'And in the rest of the file?' })
