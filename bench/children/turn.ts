// Gives turns to a model that answers at once, in the conversation `bench` of the store in the file named, each with so many calls of a
// tool; prints how many milliseconds each took beside the time spent in the client. Before them, in copies: the first turn of the
// process, and as many turns as it takes until its code is compiled.
import { copyFileSync } from 'node:fs'
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'

const [built = '', turns, toolCalls] = process.argv.slice(2)
const warmUp = 200

const play = async (copy: string, count: number): Promise<{ times: readonly number[]; items: number }> => {
  const file = `${built}-${process.pid}-${copy}.db`
  copyFileSync(built, file)
  const store = await openStore(`sqlite:${file}`)
  const chat = store.conversation('bench')
  const times: number[] = []
  for (let turn = 0; turn < count; turn++) {
    await chat.append({ role: 'user', content: messageAt(turn).content })
    const { client, spent } = instantClient(Number(toolCalls))
    const start = performance.now()
    await chat.turn({ ...turnOptions, client })
    times.push(performance.now() - start - spent())
  }
  const { length } = await chat.effective()
  await store.close()
  return { times, items: length }
}

const {
  times: [first],
} = await play('first', 1)
await play('warm', warmUp)
process.stdout.write(JSON.stringify({ first, ...(await play('measured', Number(turns))) }))
