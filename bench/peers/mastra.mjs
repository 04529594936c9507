import { join } from 'node:path'
import { LibSQLStore } from '@mastra/libsql'
import { openMemory } from './mastra-memory.mjs'

/** The memory of Mastra's agents, in libsql. */
export const peer = () => ({
  name: 'Mastra core 1.71, libsql 1.23',
  durable: false,
  open: (folder) => openMemory(new LibSQLStore({ id: 'bench', url: `file:${join(folder, 'mastra.db')}` })),
})
