import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'
import { inNewProcess } from '../processes.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'

const child = new URL('../children/turn.ts', import.meta.url)
const items = 1_000
const turns = 100

/** Milliseconds of the first turn of a process, and of turns once it is warm, and how many items are shown at the end. */
interface Ran {
  readonly first: number
  readonly times: readonly number[]
  /** Of durable appends to a table written by hand, one before each turn. */
  readonly raw: readonly number[]
  readonly items: number
}

/** What a turn takes beside the model's time, where the context is long. @param folder on the disk that the project is on */
export const turn = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const processes = isQuick ? 2 : 7
  const run = async (toolCalls: number): Promise<readonly Ran[]> => {
    const each = 2 + 2 * toolCalls
    const perProcess = turns / (1 + toolCalls)
    // So that half of the turns are below the size, and half above.
    const built = join(folder, `turn-${toolCalls}.db`)
    await build(built, items - (perProcess * each) / 2)
    const ran: Ran[] = []
    for (let process = 0; process < processes; process++) {
      ran.push((await inNewProcess(child, [built, String(perProcess), String(toolCalls)])) as Ran)
    }
    return ran
  }
  const plain = await run(0)
  const tool = await run(1)
  const cold = (some: readonly Ran[]): number => median(some.map(({ first }) => first))
  const warm = (some: readonly Ran[]): readonly number[] => some.flatMap(({ times }) => times)
  const raw = (some: readonly Ran[]): readonly number[] => some.flatMap((ran) => ran.raw)
  return {
    title: `Turn: overhead beside the model’s time at ${count(items)} items`,
    figures: [
      { what: 'a turn', figure: duration(median(warm(plain))) },
      { what: 'raw node:sqlite, a durable append', figure: duration(median(raw(plain))) },
      atMost('a turn beside a raw durable append', median(warm(plain)) / median(raw(plain)), 8),
      { what: 'of ten turns, the slowest', figure: duration(quantile(warm(plain), 0.9)) },
      { what: 'a turn with a tool call: two calls of the model', figure: duration(median(warm(tool))) },
      { what: 'the first turn of a process, the history read anew', figure: duration(cold(plain)) },
    ],
    notes: [
      `A conversation of 1 KB messages in SQLite with the default durability, ${count(items - turns)} shown at the beginning and ${count(items + turns)} at the end: rounds of a call and its result, each recorded by a turn. ${processes} processes, ${turns} turns each (half as many with a tool call), after 200 of another conversation; the median.`,
      'The raw append is that of the first part: a table with conversation, revision, a UUID and the JSON, WAL, synchronous=FULL. One goes before each turn, on the same disk.',
      'The model is a client in the process that answers at once with a stream of events; from its call until the stream has ended is its time. The append of the prompt is not counted, that of the reply and of the results is.',
    ],
  }
}

/** A conversation in which one turn took so many calls of a tool that it shows so many items. */
const build = async (file: string, shown: number): Promise<void> => {
  const store = await openStore(`sqlite:${file}?synchronous=off`)
  const chat = store.conversation('bench')
  await chat.append({ role: 'user', content: messageAt(0).content })
  await chat.turn({ ...turnOptions, client: instantClient(shown / 2 - 1).client })
  const { length } = await chat.effective()
  if (length !== shown) throw new Error(`${length} items are shown, not ${shown}`)
  await store.close()
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? Number.NaN
