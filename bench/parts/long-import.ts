import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeLongSession } from '../long-session.ts'
import { inNewProcess } from '../processes.ts'
import { atMost, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const child = new URL('../children/import.ts', import.meta.url)
const data = new URL('../../../shared/data/claude-code/', import.meta.url)
const sessions = ['session-with-compaction.jsonl', 'queued-prompts.jsonl', 'microcompact.jsonl']

interface Measured {
  readonly count: number
  readonly seconds: number
  readonly peak: number
}

/** One long session: imported, and imported again, beside reading and parsing it. */
export const longImport = async ({ folder, isQuick, megabytes }: Setting): Promise<PartResult> => {
  const size = megabytes ?? (isQuick ? 20 : 100)
  const title = `Import: one session of ${size} MB, and the same again`
  const files = sessions.map((name) => new URL(name, data))
  if (!files.every((file) => existsSync(file)))
    return {
      title,
      figures: [],
      notes: ['Left out: the sessions of ../shared/data are not beside the project.'],
    }
  const file = join(folder, 'session.jsonl')
  writeLongSession(
    file,
    files.map((each) => readFileSync(each, 'utf8')),
    size * 1e6,
  )
  const measure = (...store: readonly string[]): Promise<Measured> =>
    inNewProcess(child, [file, ...store]) as Promise<Measured>
  const [parsed, first, again]: [Measured[], Measured[], Measured[]] = [[], [], []]
  for (let round = 0; round < (size > 200 ? 1 : 3); round++) {
    const store = join(folder, `${round}.db`)
    parsed.push(await measure())
    first.push(await measure(store))
    again.push(await measure(store))
  }
  if (again.some(({ count }) => count > 0)) throw new Error('the import again has added something')
  const secondsOf = (all: readonly Measured[]): number => median(all.map(({ seconds }) => seconds))
  const ratio = (all: readonly Measured[]): number => secondsOf(all) / secondsOf(parsed)
  const peakOf = (all: readonly Measured[]): string => `${median(all.map(({ peak }) => peak)).toFixed(0)} MiB`
  return {
    title,
    figures: [
      { what: 'reading and parsing, line by line', figure: `${secondsOf(parsed).toFixed(1)} s` },
      atMost(`import of ${first[0]?.count ?? 0} events, beside that`, ratio(first), 10),
      atMost('import again, nothing new', ratio(again), 3),
      { what: 'peak memory: parsing, import, again', figure: [parsed, first, again].map(peakOf).join(', ') },
    ],
    notes: [
      'Real sessions of Claude Code, each continued by the next with ids of its own. Processor time of a process each, without its start; `npm run bench -- longImport --megabytes=1000` for another size.',
    ],
  }
}
