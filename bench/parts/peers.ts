import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { OpenAppender } from '../appenders/appender.ts'
import { openJsonLines, openWholeFile } from '../appenders/files.ts'
import { growing, type Growing } from '../appenders/growing.ts'
import { openLangGraph } from '../appenders/langgraph.ts'
import { openPalimpsest } from '../appenders/palimpsest.ts'
import { openPi } from '../appenders/pi.ts'
import { openRaw } from '../appenders/raw.ts'
import { count, duration, type PartResult } from '../report.ts'
import { alternate, type Rounds, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const builtIn = { palimpsest: openPalimpsest, raw: openRaw, lines: openJsonLines, whole: openWholeFile }
const fromNpm = { 'LangGraph SqliteSaver': openLangGraph, 'pi session manager': openPi }
const perRound = 10

/** What the append of one more 1 KB message costs the programs that others use, when the conversation has so many already. */
export const peers = async (setting: Setting): Promise<PartResult> => {
  const { isQuick, say } = setting
  const { contenders, absent } = await openAll(setting)
  const sizes = isQuick ? [100] : [100, 1_000]
  const columns: Rounds[] = []
  for (const size of sizes) {
    say(`  at ${count(size)} messages\n`)
    for (const { growTo } of contenders) await growTo(size)
    const appends = contenders.map(({ inRoundsOf }) => inRoundsOf(perRound))
    columns.push(await alternate(appends, isQuick ? 5 : 9))
  }
  for (const { close } of contenders) await close()
  return {
    title: 'Append: beside other programs, for information',
    figures: [],
    table: {
      head: ['one more 1 KB message', ...sizes.map((size) => `at ${count(size)} messages`)],
      rows: contenders.map(({ name }) => [name, ...columns.map((times) => duration(timeOf(times, name)))]),
    },
    notes: [
      "Palimpsest, raw node:sqlite and JSONL wait for the disk, the others do not: LangGraph's SqliteSaver, a checkpoint a message, has better-sqlite3's own settings (WAL, synchronous=NORMAL) and runs under the system's Node.",
      ...absent,
    ],
  }
}

const openAll = async ({
  folder,
  noPeers,
}: Setting): Promise<{ readonly contenders: readonly Growing[]; readonly absent: readonly string[] }> => {
  const contenders: Growing[] = []
  const absent: string[] = []
  for (const [name, open] of Object.entries(builtIn)) contenders.push(await openIn(folder, name, open))
  for (const [name, open] of Object.entries(fromNpm)) {
    try {
      if (noPeers !== undefined) throw new Error(noPeers)
      contenders.push(await openIn(folder, name, open))
    } catch (error) {
      absent.push(`${name} could not be run here: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { contenders, absent }
}

const openIn = async (folder: string, name: string, open: OpenAppender): Promise<Growing> => {
  const own = join(folder, name.replaceAll(' ', '-'))
  await mkdir(own)
  return growing(await open(own))
}
