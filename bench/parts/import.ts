import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from '../../src/index.ts'
import { atLeast, type PartResult } from '../report.ts'
import { alternate, type Contender, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const data = new URL('../../../shared/data/', import.meta.url)
const sessions = [
  'claude-code/session-with-compaction.jsonl',
  'pi/before-compaction.jsonl',
  'tau-bench/gpt-4o-airline-40.json',
]

interface Session {
  readonly file: string
  readonly text: string
  /** Millions of bytes. */
  readonly megabytes: number
}

/** Real sessions: parsed, planned and written. */
export const importing = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const title = 'Import: real sessions, parsed, planned and written'
  const found = sessions.filter((session) => existsSync(new URL(session, data))).map(read)
  if (found.length < sessions.length)
    return {
      title,
      figures: [],
      notes: ['Left out: the sessions of ../shared/data are not beside the project.'],
    }
  const imports = found.map((session) => importOf(session, folder))
  const floors = found.map((session) => floorOf(session, folder))
  const times = await alternate([...imports, ...floors], isQuick ? 5 : 9)
  const speed = (contenders: readonly Contender[]): number =>
    sum(found.map(({ megabytes }) => megabytes)) /
    (sum(contenders.map(({ name }) => timeOf(times, name))) / 1_000)
  return {
    title,
    figures: [
      ...found.map((session, index) => ({
        what: basename(session.file),
        figure: megabytesASecond(speedOf(session, timeOf(times, imports[index]?.name ?? ''))),
      })),
      atLeast('all of them', speed(imports), 20, megabytesASecond),
      {
        what: 'floor: JSON.parse, JSON.stringify and one row an entry, one transaction',
        figure: megabytesASecond(speed(floors)),
      },
    ],
    notes: [
      'Each import goes into a new, durable store; reading the file and opening the store are not counted.',
    ],
  }
}

const megabytesASecond = (value: number): string => `${value.toFixed(1)} MB/s`
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const speedOf = ({ megabytes }: Session, ms: number): number => megabytes / (ms / 1_000)

const read = (session: string): Session => {
  const bytes = readFileSync(new URL(session, data))
  return { file: session, text: bytes.toString(), megabytes: bytes.length / 1e6 }
}

const importOf = ({ file, text }: Session, folder: string): Contender => {
  let round = 0
  return {
    name: file,
    round: async () => {
      const store = await openStore(`sqlite:${join(folder, `${basename(file)}-${round++}.db`)}`)
      const spent = await timed(() => store.importSession({ text, file }))
      await store.close()
      return spent
    },
  }
}

const entriesOf = (file: string, text: string): readonly unknown[] =>
  file.endsWith('.jsonl')
    ? text.split('\n').flatMap((line): unknown[] => (line === '' ? [] : [JSON.parse(line)]))
    : (JSON.parse(text) as readonly unknown[])

/** What nobody who parses and stores a file can do without. */
const floorOf = ({ file, text }: Session, folder: string): Contender => {
  const db = new DatabaseSync(join(folder, `floor-${basename(file)}.db`))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE lines (text TEXT NOT NULL)')
  const insert = db.prepare('INSERT INTO lines VALUES (?)')
  const store = (): void => {
    db.exec('BEGIN IMMEDIATE')
    for (const entry of entriesOf(file, text)) insert.run(JSON.stringify(entry))
    db.exec('COMMIT')
  }
  return { name: `floor ${file}`, round: () => timed(store) }
}
