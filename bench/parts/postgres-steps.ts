import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { onPostgres } from '../durable-postgres.ts'
import { atLeast, count, type PartResult } from '../report.ts'
import { alternate, ratioOf, timeOf } from '../rounds.ts'
import { working } from './steps.ts'

const counts = [1, 2, 4] as const
/** Milliseconds that the model takes where processes are compared: so that their slots are what they lack, as with a real model. */
const latency = 400

/** Requests a second that worker processes answer: of four beside four on SQLite, and of one, two and four. */
export const postgresSteps = (folder: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const conversations = isQuick ? 60 : 200
    const file = `sqlite:${join(folder, 'steps.db')}`
    const all = [
      { name: 'SQLite, 4 processes', ...(await working(file, conversations)) },
      { name: 'PostgreSQL, 4 processes', ...(await working(server.url('steps'), conversations)) },
    ]
    for (const processes of counts)
      all.push({
        name: `PostgreSQL, model of ${latency} ms, processes: ${processes}`,
        ...(await working(server.url(`steps_${processes}`), conversations, processes, latency)),
      })
    // The first rounds configure the conversations, and V8 compiles the workers' code.
    for (let round = 0; round < (isQuick ? 2 : 4); round++) for (const each of all) await each.round()
    const taken = await alternate(all, isQuick ? 3 : 7)
    for (const { close } of all) await close()
    const [sqlite = '', postgres = '', one = '', two = '', four = ''] = all.map(({ name }) => name)
    return {
      title: 'Steps a second: worker processes of 8 slots',
      figures: [
        ...all.map(({ name }) => ({
          what: name,
          figure: `${count((conversations * 1_000) / timeOf(taken, name))}/s`,
        })),
        atLeast('two processes beside one', ratioOf(taken, one, two), 1),
        atLeast('four processes beside two', ratioOf(taken, two, four), 1),
        atLeast('four processes beside four on SQLite', ratioOf(taken, sqlite, postgres), 0.5),
      ],
      notes: [
        `A round is a request to each of ${conversations} conversations, 32 at a time, until all are answered; unless it says otherwise, the model answers at once. Server, workers and the program that asks share ${count(availableParallelism())} cores, and each commit waits for the disk.`,
      ],
    }
  })
