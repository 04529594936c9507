import * as E from 'fp-ts/lib/Either.js'
import { openEvents } from '../../src/api/open.ts'
import { turnsStreamOf, streamOf } from '../../src/events/ids.ts'
import { allPages } from '../../src/store/pages.ts'
import type { RecordedEvent } from '../../src/store/port.ts'
import { faultsIn, type Fault } from '../../test/support/workers/judge.ts'

// Reads the raw log, as somebody who knows nothing of workers would, and says whether each message was answered once.

/** A worker that was killed. */
export interface Death {
  readonly worker: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface Audit {
  /** What the model had to answer: messages, and results of tools. */
  readonly steps: number
  readonly replies: number
  readonly claims: number
  readonly doubled: readonly string[]
  readonly misplaced: readonly string[]
  readonly unanswered: readonly string[]
  /** For each conversation that somebody was killed over: milliseconds until another worker had it, ascending. */
  readonly takenOver: readonly number[]
}

/** @param prefix what the ids of the conversations begin with */
export const audit = async (url: string, prefix: string, deaths: readonly Death[]): Promise<Audit> => {
  const events = await eventsIn(url, [streamOf(prefix), turnsStreamOf(prefix)])
  const faults = faultsIn(events, { isOver: true })
  const texts = (kinds: readonly Fault['kind'][]): readonly string[] =>
    faults.flatMap(({ kind, text }) => (kinds.includes(kind) ? [text] : []))
  const said = (role: string): number =>
    events.filter(({ type, data }) => type === 'MessageAppended' && JSON.parse(data).role === role).length
  return {
    steps: said('user'),
    replies: said('assistant'),
    claims: events.filter(({ type }) => type === 'TurnClaimed').length,
    doubled: texts(['doubled']),
    misplaced: texts(['misplaced', 'miscounted', 'repeated']),
    unanswered: texts(['unanswered']),
    takenOver: takeovers(events, deaths),
  }
}

const eventsIn = async (url: string, prefixes: readonly string[]): Promise<readonly RecordedEvent[]> => {
  const store = await openEvents(url)()
  if (E.isLeft(store)) throw new Error(store.left.message)
  const events: RecordedEvent[] = []
  try {
    for await (const page of allPages(store.right, { prefixes })) {
      if (E.isLeft(page)) throw new Error(page.left.message)
      events.push(...page.right)
    }
  } finally {
    await store.right.close()()
  }
  return events
}

interface Claim {
  readonly worker: string
  readonly attempt: number
}

/** A claim that continues what somebody who has died had begun. */
const takeovers = (events: readonly RecordedEvent[], deaths: readonly Death[]): readonly number[] => {
  const died = new Map(deaths.map(({ worker, at }) => [worker, at]))
  const holders = new Map<string, string>()
  const after: number[] = []
  for (const { stream, type, data, metadata } of events) {
    if (type !== 'TurnClaimed') continue
    const { worker, attempt } = JSON.parse(data) as Claim
    const at = died.get(holders.get(stream) ?? '')
    const { time } = JSON.parse(metadata) as { readonly time: string }
    if (attempt > 1 && at !== undefined) after.push(Math.max(0, Date.parse(time) - at))
    holders.set(stream, worker)
  }
  return after.toSorted((one, other) => one - other)
}
