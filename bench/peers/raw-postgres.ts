import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Peer } from './peer.ts'

/** One INSERT for each message, into a table with the keys that ours has. The environment names the database. */
export const peer = (): Peer => ({
  name: 'raw pg 8.23',
  durable: true,
  open: async () => {
    const client = new pg.Client({ connectionString: process.env['PALIMPSEST_BENCH_POSTGRES'] })
    await client.connect()
    await client.query(`CREATE TABLE IF NOT EXISTS raw_messages (
      position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      conversation text NOT NULL, revision bigint NOT NULL, id text NOT NULL, data text NOT NULL,
      UNIQUE (conversation, revision)
    )`)
    const text = 'INSERT INTO raw_messages (conversation, revision, id, data) VALUES ($1, $2, $3, $4)'
    let revision = 0
    const all = async (): Promise<readonly unknown[]> => {
      const { rows } = await client.query<{ readonly data: string }>(
        'SELECT data FROM raw_messages ORDER BY position',
      )
      return rows.map(({ data }): unknown => JSON.parse(data))
    }
    return {
      append: async (messages) => {
        for (const message of messages)
          await client.query({
            name: 'insert',
            text,
            values: ['bench', revision++, randomUUID(), JSON.stringify(message)],
          })
      },
      last: async (count) => (await all()).slice(-count),
      all,
      close: () => client.end(),
    }
  },
})
