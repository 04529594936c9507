import { noPostgres } from '../test/support/postgres/programs.ts'
import { type PostgresServer, startPostgres } from '../test/support/postgres/server.ts'

/** Runs work on a PostgreSQL server of its own, which waits for the disk as servers do by default. */
export const onPostgres = async <A>(work: (server: PostgresServer) => Promise<A>): Promise<A> => {
  if (noPostgres !== undefined) throw new Error(noPostgres)
  const server = await startPostgres(['fsync = on', 'shared_buffers = 128MB'])
  try {
    return await work(server)
  } finally {
    await server.remove()
  }
}
