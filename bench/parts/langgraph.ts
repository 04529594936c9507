import { enter, type Entrant, type Entry } from '../entrant.ts'
import { installPeers } from '../install-peers.ts'
import { atMost, count, duration, type Figure, type PartResult, times } from '../report.ts'
import { alternate, ratioOf, timeOf } from '../rounds.ts'

// LangGraph's own depends on better-sqlite3, which is compiled for the system's Node.
const entries: readonly Entry[] = [
  { file: 'langgraph-palimpsest.ts', variant: 'full' },
  { file: 'langgraph.mjs', node: 'system' },
]
const others: readonly Entry[] = [
  { file: 'langgraph-palimpsest.ts', variant: 'normal' },
  { file: 'langgraph.mjs', variant: 'delta', node: 'system' },
]
const content = 1_024

/** Threads of LangGraph with messages of 1 KB, kept by this package and by LangGraph's own checkpointer. */
export const langgraph = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const isFull = process.argv.includes('--full')
  const sizes = isQuick ? [100] : isFull ? [1_000, 10_000] : [1_000]
  const rounds = isQuick ? 3 : 5
  const absent: string[] = []
  const problem = await installPeers((text) => process.stderr.write(text))
  if (problem !== undefined) absent.push(`The peers could not be installed: ${problem}`)
  const entered: Entrant[] = []
  for (const entry of isFull ? [...entries, ...others] : entries)
    try {
      entered.push(await enter(entry, folder))
    } catch (error) {
      absent.push(`${entry.file} ${entry.variant ?? ''} could not be run here: ${String(error)}`)
    }
  const [ours] = entered
  if (!ours) throw new Error(absent.join(' '))
  const figures: Figure[] = []
  const rows = entered.map(({ name, durable }) => [name, durable ? 'yes' : 'no'])
  for (const [nth, size] of sizes.entries()) {
    process.stderr.write(`  ${count(size)} messages\n`)
    for (const { growTo } of entered) await growTo(size, nth > 0)
    const taken = await alternate(
      entered.map(({ name, append }) => ({ name, round: async () => (await append(2)) / 2 })),
      rounds,
    )
    for (const [index, each] of entered.entries()) {
      const stored = (await each.bytes()) / (size + 2 * (rounds + 1))
      const ratio = each === ours ? '' : ` (${times(ratioOf(taken, each.name, ours.name))})`
      rows[index]?.push(`${duration(timeOf(taken, each.name))}${ratio}`, count(stored))
      if (each === ours && nth === 0)
        figures.push(
          atMost(`bytes stored beside the content at ${count(size)} messages`, stored / content, 3),
        )
    }
  }
  for (const { close } of entered) await close()
  return {
    title: 'LangGraph: a graph whose state has messages of 1 KB',
    figures,
    table: {
      head: [
        '',
        'waits for the disk',
        ...sizes.flatMap((size) => [`a message at ${count(size)}`, `bytes a message at ${count(size)}`]),
      ],
      rows,
    },
    notes: [
      'One `invoke` for two messages, the second returned by the only node of the graph: three checkpoints, and the writes of two tasks. Each checkpointer runs in a process of its own, and they take turns, round by round. In brackets: ratio to palimpsest.',
      'Up to 1,000 messages, threads grow by two messages an `invoke`; from there on by a single `invoke`, with the delta channel all but the newest 110.',
      ...absent,
    ],
  }
}
