import { setImmediate as breath } from 'node:timers/promises'
import type { Conversation, ConversationEvent, RecordedTurnFact, Roster } from '../index.ts'
import { bell, nextOf, pump } from './pump.ts'
import type { EventRelay } from './relay.ts'
import { isServed, livingWorkersIn } from './roster.ts'
import type { SseMessage } from './sse.ts'
import type { AskedMessage, ClaimedMessage, ReleasedMessage } from './turn-messages.ts'
import { factsSince, mayEnd, outcomeOf } from './turn-outcome.ts'
import { type AskedAt, turnPath } from './turn-path.ts'
import { tokenOrder } from './turn-tokens.ts'

export interface TurnRequest extends AskedAt {
  readonly chat: Conversation
  /** Id of the command that requested the answer. */
  readonly commandId: string
}

export interface TurnStreamContext {
  readonly relay: EventRelay
  readonly roster: () => Promise<Roster>
  /** Position of the last event that the client already has. */
  readonly seen: number
  readonly signal: AbortSignal
  /** Time after which a stream ends if no worker serves the store, in milliseconds. Default 30,000. */
  readonly unservedAfter?: number | undefined
}

/** Interval of checks for a turn that has ended without a recorded fact, in milliseconds. */
const lookEvery = 5_000
/** Delay before the next check when recorded events have not arrived yet, in milliseconds. */
const soon = 50
const defaultUnservedAfter = 30_000

const details = {
  tokens: "the model's output is streamed as it is written",
  events: 'no worker relays its output to this server (--relay): events arrive as they are recorded',
  nobody:
    'no worker is running: the request is recorded, and answered once a worker starts (palimpsest work)',
}
const unserved = `${details.nobody}; then send it again with its commandId`

/** Makes the first message of the stream, with the number of available workers and the content of the stream. */
const began = ({ chat, commandId, position }: TurnRequest, roster: Roster, relay: EventRelay): SseMessage => {
  const telling = relay.workers()
  const workers = new Set([...livingWorkersIn(roster), ...telling]).size
  const streams = telling.size > 0 ? 'tokens' : 'events'
  const detail = details[workers === 0 ? 'nobody' : streams]
  const data: AskedMessage = { conversation: chat.id, position, commandId, workers, streams, detail }
  return { event: 'asked', data }
}

/** Yields the message for a claim or a release. For any other fact, yields no message. */
function* factTold(
  { type, data }: RecordedTurnFact,
  tells: (worker: string) => boolean,
): Generator<SseMessage> {
  if (type === 'TurnClaimed') {
    const { worker, attempt } = data
    const claimed: ClaimedMessage = { worker, attempt, streams: tells(worker) ? 'tokens' : 'events' }
    yield { event: 'claimed', data: claimed }
  } else if (type === 'TurnReleased') {
    const { worker, reason, error, waitMs } = data
    const released: ReleasedMessage = { worker, reason, error, waitMs }
    yield { event: 'released', data: released }
  }
}

/**
 * Yields the messages of a turn stream. The first one is `asked`. Then come live events of the turn, claims and releases, and the
 * events of the conversation with their positions as ids. The last message is `outcome`: if no worker serves the store, after
 * `unservedAfter`. Leaving the loop does not cancel the turn.
 */
export async function* turnTold(
  asked: TurnRequest,
  { relay, roster, seen, signal, unservedAfter = defaultUnservedAfter }: TurnStreamContext,
): AsyncGenerator<SseMessage, void> {
  const { chat, commandId, position, message } = asked
  const { ring, heard } = bell()
  const over = new AbortController()
  const follow = { follow: true, signal: AbortSignal.any([signal, over.signal]) }
  const listening = relay.listen(chat.id)
  const tells = (worker: string): boolean => relay.workers().has(worker)
  signal.addEventListener('abort', ring)
  try {
    const now = await roster()
    yield began(asked, now, relay)
    const tokens = pump(listening.next, ring)
    const facts = pump(nextOf(chat.turnFacts({ from: position, ...follow })), ring)
    const events = pump(nextOf(chat.events({ from: position + 1, ...follow })), ring)
    const path = turnPath(asked)
    const since = factsSince(message ? undefined : commandId)
    const order = tokenOrder(tells)
    const holder = now.steps.find(({ conversation }) => conversation === chat.id)?.holder
    if (holder !== undefined) order.heldBy(holder)
    let through = position
    let isDue = true
    let servedAt = Date.now()
    let held: ConversationEvent | undefined

    while (!signal.aborted) {
      const token = tokens.take()
      if (token) {
        if (order.passes(token)) yield { event: token.type, data: token }
        // Live events that were sent earlier must precede the recorded event.
        await breath()
        continue
      }
      const fact = facts.take()
      if (fact && since.see(fact)) {
        isDue ||= mayEnd(fact)
        if (fact.type === 'TurnClaimed') order.heldBy(fact.data.worker)
        yield* factTold(fact, tells)
      }
      held ??= events.take()
      const wait = held && held.position > seen ? order.wait(held) : 0
      if (held && wait === 0) {
        through = held.position
        path.see(held)
        if (through > seen) yield { id: String(through), event: held.type, data: held }
        held = undefined
        const ended = await path.outcome(() => chat.position())
        if (ended) return yield { event: 'outcome', data: ended }
        continue
      }
      if (fact) continue
      if (isDue && !held) {
        const ended = await outcomeOf(chat, roster, { through, since, reply: path.reply() })
        if (ended) return yield { event: 'outcome', data: ended }
        isDue = through < (await chat.position())
        if (relay.workers().size > 0 || isServed(await roster(), chat.id)) servedAt = Date.now()
        else if (Date.now() - servedAt >= unservedAfter)
          return yield { event: 'outcome', data: { outcome: 'unserved', detail: unserved } }
      }
      const hasRung = await heard(held ? wait : isDue ? soon : Math.min(lookEvery, unservedAfter))
      isDue ||= !hasRung && !held
    }
  } finally {
    over.abort()
    listening.leave()
    signal.removeEventListener('abort', ring)
  }
}
