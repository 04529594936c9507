import { randomUUID } from 'node:crypto'

const [threadId, resourceId] = ['bench', 'bench']

/** The memory of Mastra's agents, in any of its stores: a row a message. */
export const openMemory = async (store) => {
  await store.init()
  const memory = await store.getStore('memory')
  if (!(await memory.getThreadById({ threadId }))) {
    const now = new Date()
    const thread = { id: threadId, resourceId, title: 'bench', createdAt: now, updatedAt: now }
    await memory.saveThread({ thread })
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
}

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
