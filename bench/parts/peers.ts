import { join } from 'node:path'
import { enter, type Entrant, type Entry } from '../entrant.ts'
import { installNow, moduleOf, reasonOf } from '../package.ts'
import { count, duration, type PartResult, times } from '../report.ts'
import { alternate, ratioOf, type Rounds, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const entries: readonly Entry[] = [
  { file: 'palimpsest.ts', variant: 'full' },
  { file: 'raw.ts', variant: 'full' },
  { file: 'emmett.mjs' },
  { file: 'palimpsest.ts', variant: 'normal' },
  { file: 'raw.ts', variant: 'normal' },
  { file: 'pi.mjs' },
  { file: 'mastra.mjs' },
  // They depend on better-sqlite3, which is compiled for the system's Node.
  { file: 'langgraph.mjs', node: 'system' },
  { file: 'langgraph.mjs', variant: 'delta', node: 'system' },
]

const compactions = 10
const between = 100
const keepLast = 50

interface Column {
  readonly head: string
  readonly values: Rounds
  readonly format: (value: number) => string
}

/** Conversations of 1 KB messages in other programs, each compared with palimpsest at the same durability. */
export const peers = async (setting: Setting): Promise<PartResult> => {
  const { folder, isQuick, say } = setting
  say('  packing and installing this package\n')
  const installed = await installNow(join(folder, 'package')).catch(reasonOf)
  const isPacked = typeof installed !== 'string'
  const variables = isPacked ? { PALIMPSEST: moduleOf(installed) } : {}
  const { entered, absent } = await enterAll(setting, folder, variables)
  const [few, some, many] = isQuick ? [10, 100, 300] : [100, 1_000, 10_000]
  const rounds = isQuick ? 3 : 9
  const at = async (messages: number): Promise<Column> => {
    say(`  append at ${count(messages)} messages\n`)
    const head = `append at ${count(messages)}`
    return { head, values: await appended(entered, rounds), format: duration }
  }

  for (const each of entered) await each.growTo(few, false)
  const early = await at(few)
  for (const each of entered) await each.growTo(some, false)
  const bytes = await bytesOf(entered, some)
  const later = await at(some)
  for (const each of entered) await each.growTo(many, true)
  const reads: Column[] = []
  for (const what of ['last', 'all'] as const) {
    const expected = what === 'last' ? keepLast : many
    say(`  ${what} of ${count(many)}\n`)
    const readers = entered.map(({ name, read }) => ({ name, round: () => read(what, expected) }))
    const head = what === 'last' ? `last ${keepLast} of ${count(many)}` : `all of ${count(many)}`
    reads.push({ head, values: await alternate(readers, isQuick ? 3 : 5), format: duration })
  }
  const late = await at(many)
  for (const { close } of entered) await close()
  const cold = await compacted(setting, rounds, variables)

  const columns = [early, later, late, bytes, ...reads, ...cold]
  return {
    title: 'Compared with other programs: messages of 1 KB',
    figures: [],
    table: {
      head: ['', 'waits for the disk', ...columns.map(({ head }) => head)],
      rows: entered.map((each) => [
        each.name,
        each.durable ? 'yes' : 'no',
        ...columns.map((column) => cell(column, each, ours(entered, each.durable))),
      ]),
    },
    notes: [
      isPacked
        ? 'Palimpsest is the packed package, installed from its tarball.'
        : `Palimpsest is run from its sources, which load more slowly than the package: that could not be installed here (${installed}).`,
      ...notes(some, many),
      ...absent,
    ],
  }
}

const notes = (some: number, many: number): readonly string[] => [
  'In brackets: ratio to palimpsest at the same durability, which is its default for peers that wait for the disk and synchronous=normal for the others. strace showed which peers wait. Each peer runs and is timed in a process of its own; the peers take turns, round by round.',
  `Append: a round is ten messages, fewer (at least two) where a message takes more than 10 ms. LangGraph, under the system's Node: one \`invoke\` for two messages, the second returned by the graph's only node; the figure is per message. Up to ${count(some)} messages, conversations grow one message at a time. From there to ${count(many)}, LangGraph gets the messages in a single \`invoke\` (with the delta channel, all but the newest 110) and emmett in appends of 100; the figures at ${count(many)} are then measured, not extrapolated. The delta channel writes a snapshot every 100 updates: one precedes the samples, and few of them contain one.`,
  'Reads: from a store that has just been opened, in warm code; opening is not counted. pi always reads its whole file and LangGraph the whole state, and both are counted.',
  `After ${compactions} compactions: ${count(compactions * between)} messages, compacted after every ${between} to a summary and the newest ${keepLast}. A new process that has imported the peer opens the store and reads the effective history; what is loaded only then, such as Palimpsest's adapter, is counted. Peers without compaction have no figure.`,
  'Left out: OpenAI Agents (Python) and Cloudflare Sessions (which needs workerd).',
]

const enterAll = async (
  { noPeers }: Setting,
  folder: string,
  variables: NodeJS.ProcessEnv,
): Promise<{ readonly entered: readonly Entrant[]; readonly absent: readonly string[] }> => {
  const entered: Entrant[] = []
  const absent: string[] = []
  for (const entry of entries) {
    try {
      if (noPeers !== undefined && entry.file.endsWith('.mjs')) throw new Error(noPeers)
      entered.push(await enter({ ...entry, variables }, folder))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      absent.push(`${[entry.file, entry.variant].join(' ').trim()} could not be run here: ${reason}`)
    }
  }
  return { entered, absent }
}

const appended = async (entered: readonly Entrant[], rounds: number): Promise<Rounds> => {
  const contenders = []
  for (const { name, append } of entered) {
    const size = Math.max(2, Math.min(10, Math.floor(200 / (await append(2)))))
    contenders.push({ name, round: async () => (await append(size)) / size })
  }
  return alternate(contenders, rounds)
}

const bytesOf = async (entered: readonly Entrant[], messages: number): Promise<Column> => {
  const values = new Map<string, readonly number[]>()
  for (const { name, bytes } of entered) values.set(name, [(await bytes()) / messages])
  return { head: `bytes a message at ${count(messages)}`, values, format: count }
}

/** How long a conversation takes to open that was compacted again and again, and the size of its files. */
const compacted = async (
  setting: Setting,
  rounds: number,
  variables: NodeJS.ProcessEnv,
): Promise<readonly Column[]> => {
  setting.say(`  ${compactions} compactions\n`)
  const { entered } = await enterAll(setting, join(setting.folder, 'compacted'), variables)
  const able = entered.filter(({ has }) => has('compact'))
  for (const { growTo, compact } of able)
    for (let round = 1; round <= compactions; round++) {
      await growTo(round * between, false)
      await compact(keepLast)
    }
  const { values: bytes } = await bytesOf(able, 1_000)
  for (const { close } of entered) await close()
  const openers = able.map(({ name, cold }) => ({ name, round: () => cold(keepLast + 1) }))
  const after = `after ${compactions} compactions`
  return [
    {
      head: `cold open and effective history ${after}`,
      values: await alternate(openers, rounds),
      format: duration,
    },
    { head: `kB on disk ${after}`, values: bytes, format: count },
  ]
}

const ours = (entered: readonly Entrant[], durable: boolean): string | undefined =>
  entered.find((each) => each.durable === durable && each.name.startsWith('palimpsest'))?.name

const cell = ({ values, format }: Column, { name }: Entrant, own: string | undefined): string => {
  if (!values.has(name)) return '–'
  const figure = format(timeOf(values, name))
  return own === undefined || own === name ? figure : `${figure} (${times(ratioOf(values, name, own))})`
}
