// Gives turns to a model that answers at once with a long text, alternately awaited and read event by event, in conversations of their own
// in memory. Prints how many milliseconds each pair took, the model's time included, and how many events were read.
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'

const [pairs] = process.argv.slice(2)
const warmUp = 30
/** Kilobytes. */
const length = 40

const store = await openStore('memory:')
let conversations = 0

const timed = async (isStream: boolean): Promise<{ readonly time: number; readonly events: number }> => {
  const chat = store.conversation(`bench-${conversations++}`)
  await chat.append({ role: 'user', content: messageAt(0).content })
  const { client } = instantClient(0, length)
  const start = performance.now()
  let events = 0
  if (isStream) for await (const _ of chat.stream({ ...turnOptions, client })) events++
  else await chat.turn({ ...turnOptions, client })
  return { time: performance.now() - start, events }
}

const measured: object[] = []
for (let pair = 0; pair < warmUp + Number(pairs); pair++) {
  const { time: awaited } = await timed(false)
  const { time, events } = await timed(true)
  if (pair >= warmUp) measured.push({ awaited, streamed: time, events })
}
await store.close()
process.stdout.write(JSON.stringify(measured))
