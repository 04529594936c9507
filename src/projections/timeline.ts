import type { ConversationEvent } from '../events/events.ts'
import { lastOf, type Log, parent, pathInSlices, resolve } from './path.ts'
import { atOnce, sliceLength } from './slices.ts'

/** An event of the log, with its position in the log's tree of branches. */
export interface TimelineEntry {
  readonly event: ConversationEvent
  /** Position of the preceding event on its path; for a `Rewound`, position of the rewind's target. */
  readonly parent: number
  /** 0-based number of the event's branch, in order of first appearance. A rewind to the end of a branch continues that branch. */
  readonly branch: number
  /** True if the event is on the path at the requested position. Always false for a rewind. */
  readonly onPath: boolean
}

/** Returns every event up to and including position `at`, in order, with abandoned branches. */
export const timeline = (log: Log, at = lastOf(log)): readonly TimelineEntry[] =>
  atOnce(timelineInSlices(log, at))

/** Computes the same as `timeline`, in slices of work. */
export function* timelineInSlices(log: Log, at = lastOf(log)): Generator<void, readonly TimelineEntry[]> {
  const shown = yield* pathInSlices(log, at)
  let next = 0
  // Typed, because a collection has to go through an array of a million entries that grows while it runs.
  const branchOf = new Int32Array(at + 1).fill(-1)
  const tips: number[] = []
  const entries: TimelineEntry[] = []
  for (let position = 0; position <= at; position++) {
    if ((position + 1) % sliceLength === 0) yield
    const event = log[position]
    if (!event) continue
    if (event.type === 'Rewound') {
      const target = resolve(log, position)
      entries.push({ event, parent: target, branch: Math.max(0, branchOf[target] ?? 0), onPath: false })
      continue
    }
    const from = parent(log, position)
    const line = branchOf[from] ?? -1
    const branch = tips[line] === from ? line : tips.length
    tips[branch] = position
    branchOf[position] = branch
    const onPath = shown[next] === position
    if (onPath) next++
    entries.push({ event, parent: from, branch, onPath })
  }
  return entries
}
