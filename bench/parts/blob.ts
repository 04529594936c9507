import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { inNewProcess } from '../processes.ts'
import { atMost, duration, type Figure, type PartResult, times } from '../report.ts'
import { median } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const child = new URL('../children/blob.ts', import.meta.url)

/** Seconds, and memory beside the size of the content. */
interface Sample {
  readonly seconds: number
  readonly memory: number
}

/** One large content, in and out: how long it takes, and how much memory beside its size. */
export const blob = ({ folder, isQuick }: Setting): Promise<PartResult> =>
  blobIn('SQLite', (round) => `sqlite:${join(folder, `${round}.db`)}`, isQuick)

/** As `blob`, in stores of a kind; each round asks for one, and uses a conversation of its own. */
export const blobIn = async (
  kind: string,
  urlOf: (round: string) => string,
  isQuick: boolean,
): Promise<PartResult> => {
  const megabytes = isQuick ? 10 : 50
  const rounds = isQuick ? 1 : 5
  const run = randomUUID()
  // Room for the program and three times the content: what is live must fit, garbage need not.
  const bounded = [`--max-old-space-size=${megabytes * 3 + 24}`, '--max-semi-space-size=8']
  const samples = await sample()
  const figure = (what: What): Figure => ({
    what: `${names[what]}: peak resident memory beside the content`,
    figure: times(samples[what].memory),
  })
  return {
    title: `Large content: ${megabytes} MB in and out, ${kind}`,
    figures: [
      atMost(`${names.put}: peak resident memory beside the content`, samples.put.memory, 3),
      atMost(`${names.get}: peak resident memory beside the content`, samples.get.memory, 3),
      figure('in'),
      figure('out'),
      ...whats.map((what) => ({ what: names[what], figure: duration(samples[what].seconds * 1_000) })),
    ],
    notes: [
      `${megabytes} MB of base64: as a blob of its own, and as the content of a message between two short ones; written in one process, read back in another; median of ${rounds}. Memory is the peak above what the process had in use before, in which the writer's own copy of the content is. The heap has room for the program and three times the content (V8: old space).`,
    ],
  }

  async function sample(): Promise<Readonly<Record<What, Sample>>> {
    const found: Record<What, Sample[]> = { put: [], get: [], in: [], out: [] }
    for (let round = 0; round < rounds; round++)
      for (const [index, what] of whats.entries()) {
        // No two blobs of one size: what was stored already would not be stored again.
        const bytes = megabytes * 1_000_000 + 4 * (round * 2 + Math.floor(index / 2))
        const args = [urlOf(String(round)), `${run}-${round}`, what, String(bytes)]
        const measured = await inNewProcess(child, args, bounded)
        const { seconds, peak } = measured as { readonly seconds: number; readonly peak: number }
        found[what].push({ seconds, memory: (peak * 1_024 * 1_024) / bytes })
      }
    const typical = (all: readonly Sample[]): Sample => ({
      seconds: median(all.map(({ seconds }) => seconds)),
      memory: median(all.map(({ memory }) => memory)),
    })
    return {
      put: typical(found.put),
      get: typical(found.get),
      in: typical(found.in),
      out: typical(found.out),
    }
  }
}

type What = 'put' | 'get' | 'in' | 'out'
const whats = ['put', 'get', 'in', 'out'] as const
const names: Readonly<Record<What, string>> = {
  put: 'a blob in, until it is durable',
  get: 'a blob out, its hash verified',
  in: 'a message with it in',
  out: 'a message with it out',
}
