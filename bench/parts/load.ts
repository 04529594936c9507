import { shown } from '../build.ts'
import { inNewProcess } from '../processes.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const child = new URL('../children/load.ts', import.meta.url)

/** Milliseconds to open the store and to load the effective history, in a new process and then again in the same. */
interface Sample {
  readonly open: number
  readonly load: number
}

/** The effective history of conversations that show as much and are of very different length. */
export const load = async ({ conversationOf, isQuick }: Setting): Promise<PartResult> => {
  const sizes = isQuick ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000]
  const files: string[] = []
  for (const size of sizes) files.push(await conversationOf(size))
  const samples = await sample(files, isQuick ? 5 : 31)
  const rows = sizes.map((size, index) => ({ size, ...mediansOf(samples[index] ?? []) }))
  const [cold, whole, again] = [
    spread(rows.map((row) => row.parts[1] ?? Number.NaN)),
    spread(rows.map((row) => row.cold)),
    spread(rows.map((row) => row.again)),
  ]
  return {
    title: `Load: effective history of ${shown} items, cold`,
    figures: [
      atMost('new process, file open: the slowest beside the fastest', cold.ratio, 1.5),
      atMost('new process, file open: load', cold.slowest, 5, duration),
      { what: 'new process: open the file and load', figure: duration(whole.slowest) },
      atMost('store opened anew, code warm: the slowest beside the fastest', again.ratio, 1.5),
      atMost('store opened anew, code warm: open and load', again.slowest, 5, duration),
    ],
    table: {
      head: ['events', 'new process: open', 'load', 'together', 'code warm: open', 'load', 'together'],
      rows: rows.map(({ size, parts, cold: together, again: warm }) => [
        count(size),
        ...parts.slice(0, 2).map(duration),
        duration(together),
        ...parts.slice(2).map(duration),
        duration(warm),
      ]),
    },
    notes: [
      'A new process imports the library and its SQLite adapter, then the clock starts: file open, statements prepared, history loaded. Most of what it takes is code that runs for the first time; "code warm" opens the store once more in the same process. The files are in the page cache.',
    ],
  }
}

const sample = async (
  files: readonly string[],
  rounds: number,
): Promise<readonly (readonly (readonly Sample[])[])[]> => {
  const samples = files.map((): (readonly Sample[])[] => [])
  for (let round = -1; round < rounds; round++)
    for (const [index, file] of files.entries()) {
      const found = (await inNewProcess(child, [file])) as readonly Sample[]
      if (round >= 0) samples[index]?.push(found)
    }
  return samples
}

const mediansOf = (
  samples: readonly (readonly Sample[])[],
): { readonly parts: readonly number[]; readonly cold: number; readonly again: number } => {
  const of = (value: (sample: Sample) => number, index: number): number =>
    median(samples.flatMap((each) => each.slice(index, index + 1).map(value)))
  const [open, loaded, together] = [
    (each: Sample): number => each.open,
    (each: Sample): number => each.load,
    (each: Sample): number => each.open + each.load,
  ]
  return {
    parts: [of(open, 0), of(loaded, 0), of(open, 1), of(loaded, 1)],
    cold: of(together, 0),
    again: of(together, 1),
  }
}

const spread = (values: readonly number[]): { readonly slowest: number; readonly ratio: number } => {
  const slowest = Math.max(...values)
  return { slowest, ratio: slowest / Math.min(...values) }
}
