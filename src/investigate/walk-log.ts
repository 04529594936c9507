import { countsIn } from '../agent/models/usage.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type Item, itemOf } from '../projections/effective.ts'
import { type Log, resolve } from '../projections/path.ts'
import {
  createReplay,
  nothingYet,
  type ReplayBuilder,
  type ReplayedHistory,
  withPrompt,
} from './replayed-history.ts'

interface ReplayStep {
  readonly event: ConversationEvent
  readonly replay: ReplayBuilder
}

/**
 * Yields every event of a log in order, with the replayed history right after it. The caller may add markers to it, which are kept. A
 * rewind restores the replayed history of the position that it returns to.
 *
 * @param prompt stand-in for the system prompt and tools that the log lacks
 * @param isOmitted reports whether the replayed history omits a marker of the log
 */
export function* walkLog(
  log: Log,
  prompt: ReplayedHistory['prompt'],
  isOmitted: (event: ConversationEvent) => boolean,
): Generator<ReplayStep, void> {
  // Positions that rewinds return to, each with the position of the last rewind that returns there.
  const returns = new Map(
    log.flatMap(({ type, position }) => (type === 'Rewound' ? [[resolve(log, position), position]] : [])),
  )
  const kept = new Map<number, ReplayedHistory>()
  const messageAt = (position: number): Item | undefined => {
    const event = log[position]
    return event && itemAs(event, requestTokens.get(position))
  }
  const beginning = withPrompt(nothingYet(messageAt), prompt)
  const { requestTokens } = beginning.known
  let replay = createReplay(beginning)
  for (const event of log) {
    const { position } = event
    if (event.type === 'Rewound') {
      const to = resolve(log, position)
      replay = createReplay(kept.get(to) ?? beginning)
      if (returns.get(to) === position) kept.delete(to)
    } else if (!isOmitted(event)) replay.add(event, messageAt(position))
    yield { event, replay }
    if (returns.has(position)) kept.set(position, replay.copy())
  }
}

/**
 * Returns an event as an item.
 *
 * @param tokens tokens of the replayed request, if the event is the reply to a request that differs from the recorded one. They replace
 * the API's counts, so that later counts are based on them.
 */
const itemAs = (event: ConversationEvent, tokens: number | undefined): Item | undefined => {
  const item = itemOf(event)
  if (tokens === undefined || item?.kind !== 'message') return item
  const { output } = countsIn(item.origin?.usage)
  return { ...item, origin: { ...item.origin, usage: { input_tokens: tokens, output_tokens: output } } }
}
