import { PostgresStore } from '@mastra/pg'
import { openMemory } from './mastra-memory.mjs'

/** The memory of Mastra's agents, in the database that the environment names. */
export const peer = () => ({
  name: 'Mastra pg 1.27.1',
  durable: true,
  open: () =>
    openMemory(new PostgresStore({ id: 'bench', connectionString: process.env.PALIMPSEST_BENCH_POSTGRES })),
})
