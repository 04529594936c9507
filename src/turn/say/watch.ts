import { type StaleContext, staleContext } from '../../commands/rejections.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import type { TurnEventData } from '../../events/turn-events.ts'
import { run, type Steps } from '../../result/steps.ts'
import type { ReadError, StoreError } from '../../store/errors.ts'
import type { RecordedEvent } from '../../store/port.ts'
import { pathAfter } from '../calls/held.ts'
import { eventsAfter } from '../calls/live.ts'

/** Work of a turn that is of no use any more once the conversation has left what it was begun for. */
interface Work {
  /** The position that the path has to lead through: of the call, or of what the request is made of. */
  readonly context: number
  /** The conversation's last position that the turn knows of. */
  readonly seen: number
  /** What ends it: a message that interrupts (never a tool), a rewind past the context (unless a late reply is to be kept). */
  readonly endedBy: readonly Why[]
}

type Why = 'interrupt' | 'rewind'
/** Why work was ended. */
type Ended = { readonly why: 'interrupt' } | { readonly why: 'rewind'; readonly error: StaleContext }

/** Looks at what others do to a conversation while a turn waits for its model or tools. */
export interface Watch {
  /** Aborts when somebody cancels the turn, or its caller aborts it. */
  readonly signal: AbortSignal
  /** Does work whose signal aborts when it is of no use any more, and says why it did. */
  readonly during: <A>(
    work: Work,
    run: (signal: AbortSignal) => Promise<A>,
  ) => Promise<{ readonly result: A; readonly ended: Ended | undefined }>
  /** Who has cancelled the turn, and why, if somebody has. */
  readonly cancelled: () => Cancelled | undefined
  readonly end: () => void
}

type Cancelled = TurnEventData['TurnCancelled']
interface Working extends Work {
  readonly ends: AbortController
  ended?: Ended
}

/** Work that is done sooner is not worth following the conversation, in milliseconds. */
const patience = 5

/** Whether an event may concern the work of a turn. */
const mayConcern = ({ type, metadata }: RecordedEvent): boolean =>
  type === 'Rewound' || type === 'TurnCancelled' || metadata.includes('"interrupts":true')

/**
 * Follows the conversation from the first work on. What it is told only makes it look: what counts is in the log.
 *
 * @param since the last revision of the turns' stream when the turn began: it heeds what was recorded later
 * @param caller the caller's signal
 */
export const watchOf = (chat: Conversation, since: number, caller: AbortSignal | undefined): Watch => {
  const over = new AbortController()
  const cancelling = new AbortController()
  const signal = caller ? AbortSignal.any([caller, cancelling.signal]) : cancelling.signal
  let following: Promise<void> | undefined
  let working: Working | undefined
  let cancelled: Cancelled | undefined
  let isSuspect = true
  let isLooking = false

  async function* lookAt(work: Working): Steps<ReadError | StoreError, void> {
    cancelled ??= yield* cancelAfter(chat, since)
    if (cancelled) cancelling.abort(cancelled)
    const later = yield* eventsAfter(chat, work.context)
    const last = later.at(-1)?.position ?? work.context
    const path = pathAfter(later, work.context, last)
    const isInterrupted = path?.some(({ position, metadata }) => position > work.seen && metadata.interrupts)
    const ended: Ended = isInterrupted
      ? { why: 'interrupt' }
      : { why: 'rewind', error: staleContext(chat.id, work.context, last) }
    if ((path && !isInterrupted) || !work.endedBy.includes(ended.why)) return
    work.ended = ended
    work.ends.abort(ended)
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
    end: () => over.abort(),
  }
}

/** The first cancel after a revision. */
async function* cancelAfter(chat: Conversation, revision: number): Steps<StoreError, Cancelled | undefined> {
  const facts = yield* chat.turnLog.after(revision)
  for (const { type, data } of facts) if (type === 'TurnCancelled') return data
  return undefined
}
