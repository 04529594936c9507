import { appendFileSync, createReadStream, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore, type Store } from '../../src/index.ts'
import { writeLongSession } from '../long-session.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { alternate, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const session = new URL('../../../shared/data/claude-code/session-with-compaction.jsonl', import.meta.url)
const size = 20e6

/** A session of 20 MB, imported again after each line that is added to it. */
export const grownImport = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const title = 'Import: one more line of a session of 20 MB'
  if (!existsSync(session))
    return {
      title,
      figures: [],
      notes: ['Left out: the sessions of ../shared/data are not beside the project.'],
    }
  const file = join(folder, 'grown.jsonl')
  writeLongSession(file, [readFileSync(session, 'utf8')], size)
  let lines = 0
  const grow = (): void => {
    const message = { role: 'user', content: 'And one thing more.' }
    const entry = { type: 'user', sessionId: 'a', uuid: `more-${lines++}`, parentUuid: null, message }
    appendFileSync(file, `${JSON.stringify(entry)}\n`)
  }
  const bytes = () => createReadStream(file, { highWaterMark: 256 * 1024 })
  const grown = async (store: Store): Promise<number> => {
    grow()
    return await timed(() => store.importSession({ file, format: 'claude-code', bytes }))
  }
  const url = `sqlite:${join(folder, 'grown.db')}`
  const store = await openStore(url)
  await grown(store)
  const inStore = { name: 'in the store that imported it', round: () => grown(store) }
  const anew = {
    name: 'in a store opened anew',
    round: async () => {
      const other = await openStore(url)
      try {
        return await grown(other)
      } finally {
        await other.close()
      }
    },
  }
  // One after the other, because the other import would take its memory and its part of the file's cache from the first.
  const rounds = isQuick ? 5 : 25
  const times = new Map([...(await alternate([inStore], rounds)), ...(await alternate([anew], rounds / 5))])
  await store.close()
  return {
    title,
    figures: [
      atMost(inStore.name, timeOf(times, inStore.name), 50, duration),
      { what: anew.name, figure: duration(timeOf(times, anew.name)) },
    ],
    notes: [
      'Each import reads the file, finds one new line and writes its events, durable, with the line for the archive. Opening the store is not counted.',
    ],
  }
}
