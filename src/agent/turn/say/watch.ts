import * as E from 'fp-ts/lib/Either.js'
import { type StaleContext, staleContext } from '../../../commands/rejections.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { RecordedTurnFact, TurnEventData } from '../../../events/turn-events.ts'
import { ok, run, type Steps } from '../../../result/steps.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import { pathAfter } from '../calls/deferred-messages.ts'

/** Work of a turn that becomes useless once the conversation has left the state that it was begun for. */
interface Work {
  /** Position that the path must include: of the call, or of the history that the request is made from. */
  readonly context: number
  /** The conversation's last position that the turn knows of. */
  readonly seen: number
  /**
   * Events that end it: an interrupting message (never for a tool) and, unless late replies are kept, a rewind past the context or
   * another holder's claim.
   */
  readonly endedBy: readonly Why[]
  /** True if it only waits for another holder's turn. */
  readonly isWaiting?: boolean
}

type Why = 'interrupt' | 'rewind' | 'lost'
/** Reason why work was ended: a message or a rewind, or another holder's claim. */
type Ended = { readonly why: 'interrupt' | 'lost' } | { readonly why: 'rewind'; readonly error: StaleContext }

/** State of the claims to the conversation, and the turn's own claim. */
export interface ClaimHandle {
  /**
   * Claims the conversation while long work continues.
   *
   * @param at the conversation's last position that the turn knows of
   */
  readonly announce: (at: number) => Promise<void>
  /** Reports whether another holder has claimed the conversation, according to the newest of these facts. The turn is then lost. */
  readonly isTakenIn: (facts: readonly RecordedTurnFact[]) => boolean
  /** Reports whether another holder has the conversation: then nothing more of this turn's unfinished work may be recorded. */
  readonly isLost: () => boolean
}

/** Watches for others' changes to a conversation while a turn waits for its model or tools. */
export interface TurnWatch {
  /** Aborts when the turn is cancelled, or its caller aborts it. */
  readonly signal: AbortSignal
  /** Runs work whose signal aborts when the work becomes useless, and returns the reason. */
  readonly during: <A>(
    work: Work,
    run: (signal: AbortSignal) => Promise<A>,
  ) => Promise<{ readonly result: A; readonly ended: Ended | undefined }>
  /** Returns the cancellation of the turn, with its author and reason, if any. */
  readonly cancelled: () => Cancelled | undefined
  readonly end: () => void
}

type Cancelled = TurnEventData['TurnCancelled']
interface Working extends Work {
  readonly ends: AbortController
  ended?: Ended
}

/** Milliseconds of work below which following the conversation is not worthwhile. */
const patience = 5

/** True if an event may affect the work of a turn. */
const mayConcern = ({ type, metadata }: RecordedEvent): boolean =>
  type === 'Rewound' ||
  type === 'TurnCancelled' ||
  type === 'TurnClaimed' ||
  metadata.includes('"interrupts":true')

/**
 * Follows the conversation from the first work on. Notifications only trigger a look at the log, which decides.
 *
 * @param since the last revision of the turns' stream when the turn began: only later facts count
 * @param caller the caller's signal
 */
export const watchOf = (
  chat: ConversationHandle,
  since: number,
  caller: AbortSignal | undefined,
  { announce, isTakenIn, isLost }: ClaimHandle,
): TurnWatch => {
  const over = new AbortController()
  const cancelling = new AbortController()
  const signal = caller ? AbortSignal.any([caller, cancelling.signal]) : cancelling.signal
  let following: Promise<void> | undefined
  let working: Working | undefined
  let cancelled: Cancelled | undefined
  let isSuspect = true
  let isLooking = false

  async function* lookAt(work: Working): Steps<ReadError | StoreError, void> {
    // At once: on a server, each is a round trip.
    const [told, came] = await Promise.all([
      run(chat.turnLog.after(since)),
      work.isWaiting ? E.right([]) : run(chat.later(work.context)),
    ])
    const facts = yield* ok(told)
    cancelled ??= facts.find((fact) => fact.type === 'TurnCancelled')?.data
    if (cancelled) cancelling.abort(cancelled)
    if (work.isWaiting) return
    if (isTakenIn(facts)) return lose(work)
    const later = yield* ok(came)
    const last = later.at(-1)?.position ?? work.context
    const path = pathAfter(later, work.context, last)
    const isInterrupted = path?.some(({ position, metadata }) => position > work.seen && metadata.interrupts)
    const why = isInterrupted ? 'interrupt' : 'rewind'
    if ((path && !isInterrupted) || !work.endedBy.includes(why)) return
    end(
      work,
      isInterrupted
        ? { why: 'interrupt' }
        : { why: 'rewind', error: staleContext(chat.id, work.context, last) },
    )
  }

  const end = (work: Working, ended: Ended): void => {
    work.ended = ended
    work.ends.abort(ended)
  }

  const lose = (work: Working): void => {
    if (work.endedBy.includes('lost')) end(work, { why: 'lost' })
  }

  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (isSuspect && working) {
      isSuspect = false
      // What cannot be read, the turn finds out when it reads.
      await run(lookAt(working))
    }
    isLooking = false
  }

  const begin = (): void => {
    following ??= chat.changes(seen, over.signal)
    void following.then(look)
    if (working && !working.isWaiting) void announced(working)
  }
  const announced = async (work: Working): Promise<void> => {
    await announce(work.seen)
    if (isLost()) lose(work)
  }
  const seen = (event: RecordedEvent): void => {
    if (!mayConcern(event)) return
    isSuspect = true
    void look()
  }

  return {
    signal,
    during: async (work, start) => {
      const current: Working = { ...work, ends: new AbortController() }
      working = current
      const result = start(AbortSignal.any([signal, current.ends.signal]))
      // Beside the work, which need not wait for it.
      const timer = setTimeout(begin, following ? 0 : patience)
      try {
        return { result: await result, ended: current.ended }
      } finally {
        clearTimeout(timer)
        working = undefined
      }
    },
    cancelled: () => (caller?.aborted ? undefined : cancelled),
    end: () => over.abort('the turn has ended'),
  }
}
