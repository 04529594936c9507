// Makes appends to a store as they are given, some lanes of them at once: `appender.ts URL`. Answers when all are made.
import * as E from 'fp-ts/lib/Either.js'
import { openEvents } from '../../src/api/open.ts'
import type { AppendRequest } from '../../src/store/port.ts'

const [url = ''] = process.argv.slice(2)
const store = await openEvents(url)()
if (E.isLeft(store)) throw new Error(store.left.message)
const { append } = store.right

const inTurn = async (lane: readonly AppendRequest[]): Promise<void> => {
  for (const each of lane) {
    const made = await append(each)()
    if (E.isLeft(made)) throw new Error(made.left.message)
  }
}

process.on('message', (lanes: readonly (readonly AppendRequest[])[]) => {
  void Promise.all(lanes.map(inTurn)).then(() => process.send?.('done'))
})
process.send?.('ready')
