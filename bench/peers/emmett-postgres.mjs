import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'

const stream = 'conversation-bench'

/** An event store in the database that the environment names. */
export const peer = () => ({
  name: 'emmett-postgresql 0.42.0',
  durable: true,
  open: async () => {
    const store = getPostgreSQLEventStore(process.env.PALIMPSEST_BENCH_POSTGRES)
    const read = async (options) => (await store.readStream(stream, options)).events
    return {
      append: async (messages) => {
        for (const message of messages)
          await store.appendToStream(stream, [{ type: 'MessageAppended', data: message }])
      },
      last: async (count) => (await read()).slice(-count),
      all: () => read(),
      close: () => store.close(),
    }
  },
})
