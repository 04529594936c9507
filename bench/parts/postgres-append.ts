import { openStore } from '../../src/index.ts'
import { onPostgres } from '../durable-postgres.ts'
import { enter, type Entrant, type Entry } from '../entrant.ts'
import { installPeers } from '../install-peers.ts'
import { messageAt } from '../messages.ts'
import { atLeast, duration, type PartResult, times } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'

const entries: readonly Entry[] = [
  { file: 'palimpsest.ts' },
  { file: 'raw-postgres.ts' },
  { file: 'emmett-postgres.mjs' },
  { file: 'langgraph-postgres.mjs' },
  { file: 'mastra-postgres.mjs' },
]
const atOnce = 64
/** Messages of a round: few, and many rounds, as the disk is now faster, now slower. */
const messages = 20
/** LangGraph writes the whole state with each message, so it would grow too long. */
const messagesOf = (name: string): number => (name.startsWith('LangGraph') ? 2 : messages)

/** Durable appends of 1 KB messages: one at a time beside others on the same server, and many conversations at once. */
export const postgresAppend = (folder: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const absent: string[] = []
    const problem = await installPeers((text) => process.stderr.write(text))
    if (problem !== undefined) absent.push(`The peers could not be installed: ${problem}`)
    const variables = {
      PALIMPSEST_BENCH_POSTGRES: server.url().replace(/\?.*/, ''),
      PALIMPSEST_BENCH_STORE: server.url(),
    }
    const entered: Entrant[] = []
    for (const entry of entries)
      try {
        entered.push(await enter({ ...entry, variables }, folder))
      } catch (error) {
        absent.push(`${entry.file} could not be run here: ${String(error)}`)
      }
    const [own, raw] = entered
    if (!own || !raw) throw new Error(absent.join(' '))
    const store = await openStore(server.url('many'))
    const chats = Array.from({ length: atOnce }, (_, n) => store.conversation(`bench-${n}`))
    const each = 4
    const many: Contender = {
      name: 'many at once',
      round: async () =>
        (await timed(() =>
          Promise.all(
            chats.map(async (chat) => {
              for (let n = 0; n < each; n++) await chat.append(messageAt(n))
            }),
          ),
        )) /
        (atOnce * each),
    }
    const alone = entered.map(({ name, append }) => ({
      name,
      round: async () => (await append(messagesOf(name))) / messagesOf(name),
    }))
    const taken = await alternate([...alone, many], isQuick ? 10 : 60)
    for (const { close } of entered) await close()
    await store.close()
    return {
      title: 'Append: durable, 1 KB messages',
      figures: [
        atLeast('one at a time: speed beside raw pg', ratioOf(taken, raw.name, own.name), 0.8),
        { what: `${atOnce} conversations at once`, figure: duration(timeOf(taken, many.name)) },
        atLeast(`${atOnce} at once beside one at a time`, ratioOf(taken, own.name, many.name), 4),
      ],
      table: {
        head: ['one at a time', 'a message', 'beside palimpsest'],
        rows: entered.map(({ name }) => [
          name,
          duration(timeOf(taken, name)),
          times(ratioOf(taken, name, own.name)),
        ]),
      },
      notes: [
        'All are in processes of their own, on one server with fsync and synchronous_commit on. Raw pg is one prepared INSERT into a table with the same keys. LangGraph runs a graph of one node for two messages, which writes three checkpoints; its time is that of one message.',
        ...absent,
      ],
    }
  })
