import { conversationOf } from '../../../src/events/ids.ts'
import type { Event } from '../../../src/events/events.ts'
import type { RecordedEvent } from '../../../src/store/port.ts'
import { type Moment, moments, nothing } from '../model.ts'

// Reads the raw log of a store and says what is wrong with it. Shares no code with src/workers.

interface Said {
  readonly role: string
  readonly origin?: { readonly stopReason?: string; readonly context?: { readonly position: number } }
}

const between = new Set(['Condensed', 'Truncated', 'Restored', 'Configured'])

/** W1–W3: a reply comes right after what it answers, and what it was made from. */
const wrongReplies = (conversation: string, log: readonly Event[]): readonly string[] => {
  const all: readonly Moment[] = moments(log)
  return log.flatMap((event, position) => {
    if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return []
    const { path } = all[position - 1] ?? nothing
    const answered = path.findLast((at) => !between.has(log[at]?.type ?? ''))
    const last = log[answered ?? -1]
    const where = `the reply at ${position} of ${conversation}`
    if (last?.type !== 'MessageAppended' || last.data.role !== 'user') return [`${where} answers no message`]
    const made = (event.data as Said).origin?.context?.position ?? -1
    const unseen = path.filter((at) => at > made && !between.has(log[at]?.type ?? ''))
    return unseen.length > 0 ? [`${where} was made at ${made}, and has not seen ${unseen.join(', ')}`] : []
  })
}

interface Claim {
  readonly step: string
  readonly attempt: number
}

/** W9: attempts of a step are counted up to five, and never down. */
const wrongClaims = (stream: string, events: readonly RecordedEvent[]): readonly string[] => {
  const highest = new Map<string, number>()
  return events.flatMap(({ type, data }) => {
    if (type === 'TurnUnparked') highest.clear()
    if (type !== 'TurnClaimed') return []
    const { step, attempt } = JSON.parse(data) as Claim
    const before = highest.get(step) ?? 0
    highest.set(step, attempt)
    return attempt < before || attempt > 5
      ? [`attempt ${attempt} after ${before} at ${step} in ${stream}`]
      : []
  })
}

/** What is wrong with a log, if anything is. */
export const wrongIn = (events: readonly RecordedEvent[]): readonly string[] =>
  [...Map.groupBy(events, ({ stream }) => stream)].flatMap(([stream, all]) => {
    const conversation = conversationOf(stream)
    if (conversation === undefined) return stream.startsWith('turns-') ? wrongClaims(stream, all) : []
    return wrongReplies(
      conversation,
      all.map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown }) as Event),
    )
  })
