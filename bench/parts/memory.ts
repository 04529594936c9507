import { inNewProcess } from '../processes.ts'
import { atMost, count, type Figure, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const child = new URL('../children/memory.ts', import.meta.url)

// Left alone, V8 lets garbage pile up while the machine has room, and the peak tells more of its policy than of the program.
const smallHeap = ['--max-old-space-size=48', '--max-semi-space-size=8']

/** Whether reading a conversation from end to end takes more memory the longer it is. */
export const memory = async ({ conversationOf, isQuick }: Setting): Promise<PartResult> => {
  const sizes = isQuick ? [10_000, 50_000, 100_000] : [10_000, 400_000, 1_000_000]
  const files: string[] = []
  for (const size of sizes) files.push(await conversationOf(size))
  const figures: Figure[] = []
  const rows: (readonly string[])[] = []
  for (const what of ['export', 'verify']) {
    const [short = Number.NaN, , long = Number.NaN] = add(
      `${what}, small heap`,
      await peaksOf(what, files, smallHeap),
    )
    figures.push(
      atMost(
        `${what}, small heap: ${count(sizes[2] ?? 0)} events beside ${count(sizes[0] ?? 0)}`,
        long / short,
        1.3,
      ),
    )
    add(`${what}, heap as it comes`, await peaksOf(what, files, []))
  }
  function add(name: string, peaks: readonly number[]): readonly number[] {
    rows.push([name, ...peaks.map(mebibytes)])
    return peaks
  }
  return {
    title: 'Memory: a conversation exported and verified',
    figures,
    table: { head: ['peak resident memory', ...sizes.map((size) => `${count(size)} events`)], rows },
    notes: [
      'Each in a process of its own (export: every event of chat.events() made JSON; verify: chat.verify()), Node and the library included; median of 3. The small heap (V8: 48 MiB old space, 8 MiB semi-spaces) has room for what is live and little more: a program that kept what it reads would end there. As it comes, V8 lets garbage pile up as long as the machine has room for it, more of it the longer it runs; the small heap shows that none of it is needed.',
    ],
  }
}

const mebibytes = (value: number): string => `${value.toFixed(0)} MiB`

const peaksOf = async (
  what: string,
  files: readonly string[],
  options: readonly string[],
): Promise<readonly number[]> => {
  const peaks = files.map((): number[] => [])
  for (let round = 0; round < 3; round++)
    for (const [index, file] of files.entries()) {
      const { peak } = (await inNewProcess(child, [file, what], options)) as { readonly peak: number }
      peaks[index]?.push(peak)
    }
  return peaks.map(median)
}
