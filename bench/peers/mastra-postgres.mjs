import { randomUUID } from 'node:crypto'
import { PostgresStore } from '@mastra/pg'

const [threadId, resourceId] = ['bench', 'bench']

/** The memory of Mastra's agents, in the database that the environment names: a row a message. */
export const peer = () => ({
  name: 'Mastra pg 1.27.1',
  durable: true,
  open: async () => {
    const store = new PostgresStore({ id: 'bench', connectionString: process.env.PALIMPSEST_BENCH_POSTGRES })
    await store.init()
    const memory = await store.getStore('memory')
    if (!(await memory.getThreadById({ threadId }))) {
      const now = new Date()
      await memory.saveThread({
        thread: { id: threadId, resourceId, title: 'bench', createdAt: now, updatedAt: now },
      })
    }
    const read = async (options) => (await memory.listMessages({ threadId, ...options })).messages
    return {
      append: async (messages) => {
        for (const message of messages) await memory.saveMessages({ messages: [mastraMessage(message)] })
      },
      last: (count) => read({ perPage: count, orderBy: { field: 'createdAt', direction: 'DESC' } }),
      all: () => read({ perPage: false }),
      close: () => store.close(),
    }
  },
})

// It orders messages by this time, in milliseconds.
let time = Date.now()

const mastraMessage = ({ role, content }) => ({
  id: randomUUID(),
  threadId,
  resourceId,
  role,
  createdAt: new Date(time++),
  type: 'v2',
  content: { format: 2, parts: [{ type: 'text', text: content }] },
})
