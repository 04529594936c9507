import { createWriteStream } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { palimpsestLine } from '../../src/transfer/formats/write-palimpsest.ts'
import { openEvents } from '../../src/api/open.ts'
import { nodeFlags } from '../../src/cli/work/node-flags.ts'
import { openStore } from '../../src/index.ts'
import { orThrow } from '../../src/result/fallible.ts'
import { fillConversations } from '../many-conversations.ts'
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

/** Measures how long the thread works without giving the event loop a turn, while one long conversation is read and changed, and very many are listed. */
export const stretches = async ({ folder, conversationOf, isQuick, say }: Setting): Promise<PartResult> => {
  const [events, messages, conversations] = isQuick ? [50_000, 10_000, 2_000] : [1_000_000, 100_000, 100_000]
  const long = await conversationOf(events)
  say('  indexing it\n')
  const store = await openStore(`sqlite:${long}`)
  while (!(await store.catalogue.find({ limit: 1 })).isComplete);
  await store.close()
  const flat = join(folder, 'flat.db')
  const session = join(folder, 'flat.jsonl')
  await writeFlat(flat, session, messages)
  const many = `sqlite:${join(folder, 'many.db')}`
  await writeMany(many, conversations)
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
    'find a word': () => atLong,
    'find what is everywhere': () => atLong,
    'search for what is everywhere': () => atLong,
    'list of many by activity': () => [many],
    'list of many as begun': () => [many],
    'find among many': () => [many],
    'find among many what all have': () => [many],
    // The last ones, as they write to the conversation.
    'message indexed': () => atLong,
    'list after an append': () => atLong,
    'find after an append': () => atLong,
    'summary indexed': () => atLong,
  }
  const found = new Map(Object.keys(operations).map((what): [string, Stretch[]] => [what, []]))
  const of = (what: string, value: (stretch: Stretch) => number): number =>
    median((found.get(what) ?? []).map(value))
  const longest = (what: string): number => of(what, (stretch) => stretch.longest)
  for (const [what, prepare] of Object.entries(operations)) {
    for (let round = 0; round < (isQuick ? 1 : 5); round++) {
      found.get(what)?.push((await inNewProcess(child, [what, ...(await prepare())], nodeFlags)) as Stretch)
      for (const suffix of ['', '-wal', '-shm']) await rm(into + suffix, { force: true })
    }
    say(`  ${what}: ${duration(longest(what))}\n`)
  }
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
      `Processor time of the thread (\`process.threadCpuUsage\`), collecting garbage included; median of fresh processes, which did the same with a small conversation first and run with the Node flags of \`palimpsest work\` (\`${nodeFlags.join(' ')}\`). Of ${count(events)} events, but condense and import (Palimpsest JSONL): of ${count(messages)} messages of 1 KB without a summary. Lists are of ${count(conversations)} conversations.`,
      'The second reference reads the same rows as full and timeline with node:sqlite, 256 in each turn, parses them and keeps what they say: what V8 then takes at once to move what is live, nobody who keeps it can avoid.',
    ],
  }
}

/** Very many short conversations, and the index of them. */
const writeMany = async (url: string, conversations: number): Promise<void> => {
  const events = await orThrow(openEvents(`${url}?synchronous=off`))
  await fillConversations(events, { conversations, messages: 4, length: 100 })
  await events.close()()
  const store = await openStore(url)
  while (!(await store.catalogue.find({ limit: 1 })).isComplete);
  await store.close()
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
