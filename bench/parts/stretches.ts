import { createWriteStream } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { palimpsestLine } from '../../src/formats/write-palimpsest.ts'
import { openStore } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { inNewProcess } from '../processes.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const child = new URL('../children/stretch.ts', import.meta.url)
const bound = 20

/** The longest stretch of work between two turns of the loop, and how long the operation takes, in milliseconds. */
interface Stretch {
  readonly longest: number
  readonly took: number
}

/** How long the thread works without giving the event loop a turn, while one long conversation is read and changed. */
export const stretches = async ({ folder, conversationOf, isQuick, say }: Setting): Promise<PartResult> => {
  const [events, messages] = isQuick ? [50_000, 10_000] : [1_000_000, 100_000]
  const long = await conversationOf(events)
  say('  indexing it\n')
  const store = await openStore(`sqlite:${long}`)
  while ((await store.catalogue.outline('bench', { to: 0 })).indexed < events - 1);
  await store.close()
  const flat = join(folder, 'flat.db')
  const session = join(folder, 'flat.jsonl')
  await writeFlat(flat, session, messages)
  const into = join(folder, 'target.db')
  const atLong = [`sqlite:${long}`] as const
  const copied = async (): Promise<readonly string[]> => {
    await copyFile(flat, into)
    return [`sqlite:${into}`]
  }
  const operations: Readonly<Record<string, () => readonly string[] | Promise<readonly string[]>>> = {
    reference: () => atLong,
    rows: () => [...atLong, long],
    full: () => atLong,
    timeline: () => atLong,
    outline: () => atLong,
    overview: () => atLong,
    backup: () => [...atLong, into],
    condense: copied,
    import: () => [`sqlite:${into}`, session],
  }
  const found = new Map(Object.keys(operations).map((what): [string, Stretch[]] => [what, []]))
  for (let round = 0; round < (isQuick ? 1 : 5); round++)
    for (const [what, prepare] of Object.entries(operations)) {
      say(`  ${what}\n`)
      found.get(what)?.push((await inNewProcess(child, [what, ...(await prepare())])) as Stretch)
      for (const suffix of ['', '-wal', '-shm']) await rm(into + suffix, { force: true })
    }
  const of = (what: string, value: (stretch: Stretch) => number): number =>
    median((found.get(what) ?? []).map(value))
  const longest = (what: string): number => of(what, (stretch) => stretch.longest)
  return {
    title: `Stretches: the longest that the thread works between two turns of the event loop`,
    figures: [
      { what: 'reference: a loop that gives a turn every 3 ms', figure: duration(longest('reference')) },
      { what: 'reference: all rows parsed and kept', figure: duration(longest('rows')) },
      ...Object.keys(operations)
        .slice(2)
        .map((what) => atMost(what, longest(what), bound, duration)),
    ],
    table: {
      head: ['operation', 'takes'],
      rows: Object.keys(operations).map((what) => [what, duration(of(what, ({ took }) => took))]),
    },
    notes: [
      `Processor time of the thread (\`process.threadCpuUsage\`), collecting garbage included; median of fresh processes, which did the same with a small conversation first. Of ${count(events)} events, but condense and import (Palimpsest JSONL): of ${count(messages)} messages of 1 KB without a summary.`,
      'The second reference reads the same rows as full and timeline with node:sqlite, 256 in each turn, parses them and keeps what they say: what V8 then takes at once to move what is live, nobody who keeps it can avoid.',
    ],
  }
}

/** A conversation without a summary, in a store and as a session. */
const writeFlat = async (file: string, session: string, messages: number): Promise<void> => {
  const store = await openStore(`sqlite:${file}?synchronous=off`)
  const chat = store.conversation('bench')
  for (let written = 0; written < messages; written += 500)
    await chat.append(Array.from({ length: 500 }, (_, index) => messageAt(written + index)))
  const out = createWriteStream(session)
  for await (const event of chat.stored()) out.write(`${palimpsestLine(event)}\n`)
  await finished(out.end())
  await store.close()
}
