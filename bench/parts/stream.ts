import { inNewProcess } from '../processes.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { median } from '../rounds.ts'

const child = new URL('../children/stream.ts', import.meta.url)
const pairs = 100

/** A turn that was awaited, and one that was read event by event, in milliseconds. */
interface Pair {
  readonly awaited: number
  readonly streamed: number
  readonly events: number
}

/** What it takes to read a turn event by event. */
export const stream = async (isQuick: boolean): Promise<PartResult> => {
  const all: Pair[] = []
  for (let process = 0; process < (isQuick ? 2 : 7); process++)
    all.push(...((await inNewProcess(child, [String(pairs)])) as readonly Pair[]))
  const each = median(all.map(({ awaited, streamed, events }) => (streamed - awaited) / events))
  return {
    title: 'Stream: a turn read event by event',
    figures: [
      { what: 'a turn', figure: duration(median(all.map(({ awaited }) => awaited))) },
      {
        what: 'the same, read event by event',
        figure: duration(median(all.map(({ streamed }) => streamed))),
      },
      { what: 'events', figure: count(median(all.map(({ events }) => events))) },
      atMost('what an event adds', each, 0.02, duration),
    ],
    notes: [
      'A reply of 40 KB from a client in the process that answers at once, in deltas of 24 characters; conversations in memory, so that no disk is measured. Turns are alternately awaited and read; the median of the differences of neighbours.',
    ],
  }
}
