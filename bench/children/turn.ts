// Gives turns to a model that answers at once, in the conversation `bench` of the store in the file named, each with so many calls of a
// tool; prints how many milliseconds each took beside the time spent in the client, and before each, a durable append to a table written
// by hand. Before them, in copies: the first turn of the process, and as many turns as it takes until its code is compiled.
import { copyFileSync, mkdirSync } from 'node:fs'
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'
import { peer as rawTable } from '../peers/raw.ts'
import { timed } from '../rounds.ts'

const [built = '', turns, toolCalls] = process.argv.slice(2)
const warmUp = 200

interface Played {
  readonly times: readonly number[]
  readonly raw: readonly number[]
  readonly items: number
}

const play = async (copy: string, count: number): Promise<Played> => {
  const file = `${built}-${process.pid}-${copy}.db`
  copyFileSync(built, file)
  const store = await openStore(`sqlite:${file}`)
  const chat = store.conversation('bench')
  const folder = `${file}-raw`
  mkdirSync(folder)
  const table = await rawTable().open(folder)
  const times: number[] = []
  const raw: number[] = []
  for (let turn = 0; turn < count; turn++) {
    raw.push(await timed(() => table.append([messageAt(turn)])))
    await chat.append({ role: 'user', content: messageAt(turn).content })
    const { client, spent } = instantClient(Number(toolCalls))
    const start = performance.now()
    await chat.turn({ ...turnOptions, client })
    times.push(performance.now() - start - spent())
  }
  const { length } = await chat.effective()
  await store.close()
  await table.close()
  return { times, raw, items: length }
}

const {
  times: [first],
} = await play('first', 1)
await play('warm', warmUp)
process.stdout.write(JSON.stringify({ first, ...(await play('measured', Number(turns))) }))
