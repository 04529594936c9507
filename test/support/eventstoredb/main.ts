import { eventStoreDb } from './server.ts'

/** `main.ts [port]`: a database in a process of its own. Prints its URL; ends on SIGTERM, and forgets everything. */
const database = await eventStoreDb({ port: Number(process.argv[2] ?? 0) })
process.stdout.write(`${database.url}\n`)
process.once('SIGTERM', () => void database.close())
