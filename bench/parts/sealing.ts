import { join } from 'node:path'
import { newKeyFile } from '../../src/audit.ts'
import { openStore } from '../../src/index.ts'
import { nodesOf } from '../../src/audit/ledger/nodes.ts'
import { loadLedger } from '../../src/audit/ledger/log.ts'
import { orThrow, run } from '../../src/result/fallible.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { fillConversations, medianOf } from '../many-conversations.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { timed } from '../rounds.ts'

/** What sealing the heads of very many conversations takes, of one event each, and then the proof of one. */
export const sealing = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const conversations = isQuick ? 100_000 : 1_000_000
  const url = `sqlite:${join(folder, 'many.db')}`
  const events = await orThrow(openSqlite(`${url}?synchronous=off`))
  await fillConversations(events, { conversations, messages: 1, length: 100 })
  await orThrow(events.close())

  const store = await openStore(url)
  const signer = await newKeyFile(join(folder, 'key.pem'))
  await store.audit.init({ signer })
  let size = 0
  const before = process.cpuUsage()
  const spent = await timed(async () => {
    ;({ size } = await store.audit.seal({ signer }))
  })
  const { user, system } = process.cpuUsage(before)
  const again = await timed(() => store.audit.seal({ signer }))
  const oldest = await timed(() => store.audit.proof('c0'))
  await store.close()

  const raw = await orThrow(openSqlite(url))
  const ledger = await orThrow(run(loadLedger(raw)))
  const nodes = nodesOf(raw)
  let entry = 0
  const proof = (): Promise<unknown> => orThrow(run(nodes.inclusion(ledger, size, (entry += 7_919) % size)))
  const cold = await medianOf(200, proof)
  entry = 0
  const warm = await medianOf(200, proof)
  await orThrow(raw.close())
  return {
    title: `Seal the heads of ${count(conversations)} conversations of one event (SQLite)`,
    figures: [
      { what: 'entries', figure: count(size) },
      atMost('sealing a million', (spent / conversations) * 1_000_000, 30_000, duration),
      {
        what: 'processor time of sealing a million',
        figure: duration(((user + system) / 1_000 / conversations) * 1_000_000),
      },
      { what: 'sealing again, when nothing moved', figure: duration(again) },
      atMost('a proof, its tiles read from the store', cold, 1, duration),
      atMost('a proof, its tiles remembered', warm, 1, duration),
      {
        what: 'the proof of the first one by its name: the ledger is searched from its end',
        figure: duration(oldest),
      },
    ],
    notes: isQuick ? ['Measured with a tenth of the conversations.'] : [],
  }
}
