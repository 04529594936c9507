import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { onPostgres } from '../durable-postgres.ts'
import { atLeast, count, type PartResult } from '../report.ts'
import { alternate, ratioOf, timeOf } from '../rounds.ts'
import { working } from './steps.ts'

const counts = [1, 2, 4] as const

/** Requests a second that one, two and four worker processes answer, beside four on SQLite. */
export const postgresSteps = (folder: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const conversations = isQuick ? 60 : 200
    const onFile = {
      name: 'SQLite, 4',
      ...(await working(`sqlite:${join(folder, 'steps.db')}`, conversations)),
    }
    const all = [onFile]
    for (const processes of counts)
      all.push({
        name: `PostgreSQL, ${processes}`,
        ...(await working(server.url(`steps_${processes}`), conversations, processes)),
      })
    // The first rounds configure the conversations, and V8 compiles the workers' code.
    for (let round = 0; round < (isQuick ? 2 : 5); round++) for (const each of all) await each.round()
    const taken = await alternate(all, isQuick ? 3 : 9)
    for (const { close } of all) await close()
    const [sqlite = '', one = '', two = '', four = ''] = all.map(({ name }) => name)
    return {
      title: 'Steps a second: worker processes of 8 slots, a model that answers at once',
      figures: [
        ...all.map(({ name }) => ({
          what: `${name} processes`,
          figure: `${count((conversations * 1_000) / timeOf(taken, name))}/s`,
        })),
        atLeast('two processes beside one', ratioOf(taken, one, two), 1),
        atLeast('four processes beside two', ratioOf(taken, two, four), 1),
        atLeast('four processes beside four on SQLite', ratioOf(taken, sqlite, four), 0.5),
      ],
      notes: [
        `A round is a request to each of ${conversations} conversations, 32 at a time, until all are answered. Server, workers and the program that asks share ${count(availableParallelism())} cores, and each commit waits for the disk.`,
      ],
    }
  })
