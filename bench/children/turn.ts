// Gives turns to a model that answers at once, in the conversation `bench` of the store in the file named, each with so many calls of a
// tool; prints how many milliseconds each took beside the time spent in the client.
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'

const [file, turns, toolCalls] = process.argv.slice(2)
const store = await openStore(`sqlite:${file}`)
const chat = store.conversation('bench')
const times: number[] = []
for (let turn = 0; turn < Number(turns); turn++) {
  await chat.append({ role: 'user', content: messageAt(turn).content })
  const { client, spent } = instantClient(Number(toolCalls))
  const start = performance.now()
  await chat.turn({ ...turnOptions, client })
  times.push(performance.now() - start - spent())
}
const { length } = await chat.effective()
await store.close()
process.stdout.write(JSON.stringify({ times, items: length }))
