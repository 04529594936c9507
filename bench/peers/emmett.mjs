import { join } from 'node:path'
import { getSQLiteEventStore } from '@event-driven-io/emmett-sqlite'

const stream = 'conversation-bench'
let end = 0n

/** An event store in SQLite; it opens a connection for each operation. */
export const peer = () => ({
  name: 'emmett-sqlite 0.42.4',
  durable: true,
  open: async (folder) => {
    const store = getSQLiteEventStore({ fileName: join(folder, 'emmett.db') })
    const write = async (messages) => {
      const events = messages.map((message) => ({ type: 'MessageAppended', data: message }))
      const { nextExpectedStreamVersion } = await again(() => store.appendToStream(stream, events))
      end = nextExpectedStreamVersion
    }
    const read = async (options) => (await again(() => store.readStream(stream, options))).events
    return {
      append: async (messages) => {
        for (const message of messages) await write([message])
      },
      seed: async (messages) => {
        for (let at = 0; at < messages.length; at += 100) await write(messages.slice(at, at + 100))
      },
      last: (count) => read({ from: end - BigInt(count) + 1n }),
      all: () => read(),
      close: async () => undefined,
    }
  },
})

/** Its connections have no busy timeout: now and then one finds the file locked by the one before it. */
const again = async (work) => {
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (error.code !== 'SQLITE_BUSY') throw error
    }
}
