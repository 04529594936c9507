import * as E from 'fp-ts/lib/Either.js'
import { type StaleContext, staleContext } from '../../../commands/rejections.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { RecordedTurnFact, TurnEventData } from '../../../events/turn-events.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import { pathAfter } from '../../../projections/path.ts'

/** Work of a turn that becomes useless once the conversation leaves the state in which the work began. */
interface Work {
  /** Position that the path must still include: the position of the reply that makes the call, or of the history in the request. */
  readonly context: number
  /** Last position of the conversation known to the turn. */
  readonly seen: number
  /** Causes that end the work: never an interruption for a tool, and only an interruption if late replies are kept. */
  readonly endedBy: readonly Ended['why'][]
  /** True if the turn is only waiting for another holder's turn to end. */
  readonly isWaiting?: boolean
}

/** Reason why work was ended: an interrupting message, a rewind, or another holder's claim. */
type Ended = { readonly why: 'interrupt' | 'lost' } | { readonly why: 'rewind'; readonly error: StaleContext }

/** Access to the claims to the conversation, including the turn's own. */
export interface ClaimHandle {
  /** Claims the conversation while long work continues; `at` is its last position known to the turn. */
  readonly announce: (at: number) => Promise<void>
  /** Reports whether the newest claim among these facts belongs to another holder. If it does, the turn is lost. */
  readonly isTakenIn: (facts: readonly RecordedTurnFact[]) => boolean
  /** Reports whether another holder has claimed the conversation: nothing more of this turn's unfinished work may then be recorded. */
  readonly isLost: () => boolean
}

/** Watcher for changes that others make to a conversation while a turn waits for its model or its tools. */
export interface TurnWatch {
  /** Signal that aborts when the turn is cancelled or its caller aborts it. */
  readonly signal: AbortSignal
  /** Runs work with a signal that aborts once the work becomes useless. Returns the result, and the reason for an abort. */
  readonly during: <A>(
    work: Work,
    run: (signal: AbortSignal) => Promise<A>,
  ) => Promise<{ readonly result: A; readonly ended: Ended | undefined }>
  /** Returns the turn's cancellation, with its author and reason; undefined if the turn was not cancelled or its caller aborted it. */
  readonly cancelled: () => Cancelled | undefined
  readonly end: () => void
}

type Cancelled = TurnEventData['TurnCancelled']
interface Working extends Work {
  readonly ends: AbortController
  ended?: Ended
}

/** Milliseconds of work after which the turn starts to follow the conversation. For shorter work it is not worthwhile. */
const patience = 5

const mayConcern = ({ type, metadata }: RecordedEvent): boolean =>
  type === 'Rewound' ||
  type === 'TurnCancelled' ||
  type === 'TurnClaimed' ||
  metadata.includes('"interrupts":true')

/**
 * Creates a watcher that follows the conversation as soon as the turn has work to do. Notifications only trigger a read of the log;
 * whether the work ends depends on the log alone.
 *
 * @param since last revision of the log of turns when the turn began: only later facts count
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

  async function* lookAt(work: Working): Fallible<ReadError | StoreError, void> {
    // In parallel, because each read is a round trip if the store is on a server.
    const [told, came] = await Promise.all([
      run(chat.turnLog.after(since)),
      work.isWaiting ? E.right([]) : run(chat.later(work.context)),
    ])
    const facts = yield* unwrap(told)
    cancelled ??= facts.find((fact) => fact.type === 'TurnCancelled')?.data
    if (cancelled) cancelling.abort(cancelled)
    if (work.isWaiting) return
    if (isTakenIn(facts)) return end(work, { why: 'lost' })
    const later = yield* unwrap(came)
    const last = later.at(-1)?.position ?? work.context
    const path = pathAfter(later, work.context, last)
    if (!path) end(work, { why: 'rewind', error: staleContext(chat.id, work.context, last) })
    else if (path.some(({ position, metadata }) => position > work.seen && metadata.interrupts))
      end(work, { why: 'interrupt' })
  }

  const end = (work: Working, ended: Ended): void => {
    if (!work.endedBy.includes(ended.why)) return
    work.ended = ended
    work.ends.abort(ended)
  }

  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (isSuspect && working) {
      isSuspect = false
      // Errors are ignored here: the turn encounters them in its own reads.
      await run(lookAt(working))
    }
    isLooking = false
  }

  const begin = async (work: Working): Promise<void> => {
    following ??= chat.changes(seen, over.signal)
    void following.then(look)
    if (work.isWaiting) return
    await announce(work.seen)
    if (isLost()) end(work, { why: 'lost' })
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
      // Runs concurrently with the work, which need not wait for it.
      const timer = setTimeout(() => void begin(current), following ? 0 : patience)
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
