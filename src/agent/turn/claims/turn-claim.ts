import { staleContext } from '../../../commands/rejections.ts'
import { randomUUID } from 'node:crypto'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { START } from '../../../events/events.ts'
import { workerStreamOf } from '../../../events/ids.ts'
import type { TurnFact } from '../../../events/turn-events.ts'
import type { TurnLog, TurnsEnd } from '../../../conversation/beside/turn-log.ts'
import type { Effective } from '../../../projections/effective.ts'
import { modelAborted, orAborted } from '../../models/abort.ts'
import type { ModelAborted } from '../../models/model.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import { despiteConflicts } from '../../../store/conflicts.ts'
import type { ReadError, StoreError, WriteError } from '../../../store/errors.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import type { LiveHistory } from '../calls/live.ts'
import { isToDo, openCalls } from '../calls/open-calls.ts'
import type { ResolvedTurnOptions } from '../options.ts'
import type { ClaimHandle, TurnWatch } from '../say/watch.ts'
import { turnHeld, type TurnHeld } from './errors.ts'
import { letGo } from './let-go.ts'
import { type Claim, type ClaimStatus, claimStatusOf } from './claim-status.ts'

/** Claims to a conversation from the viewpoint of one of its turns, including that turn's own claim (ADR 29). */
export interface TurnClaim extends ClaimHandle {
  /** Waits while another holder runs a turn, and claims the conversation if others might. Returns the history to continue with. */
  readonly enter: (now: Effective, phase: Phase) => Fallible<HoldError, Effective>
  /**
   * Returns the facts that claim the conversation, to be recorded together with the turn's next facts; an empty array if no claim is
   * needed. `revision` is the last revision of the log of turns. Marks the turn as lost if another holder has claimed the conversation.
   */
  readonly along: (at: number, revision: number) => Fallible<StoreError, readonly TurnFact[]>
  /** Remembers the turn's claim if the recorded facts contain it. */
  readonly recorded: (facts: readonly TurnFact[], end: TurnsEnd) => void
  /** Reports whether the turn has ever claimed the conversation, even if it has lost the claim since. */
  readonly hasClaimed: () => boolean
  /** Ends the turn and releases the conversation, unless the turn's last reply, at `final`, implies the release. */
  readonly leave: (final: number | undefined, reason: Reason) => Promise<void>
}

/** State in which a turn leaves the conversation: finished, with waiting calls, or with work for any free worker. */
type Reason = 'done' | 'waiting' | 'free'

export type HoldError = WriteError | ReadError | ModelAborted | TurnHeld

interface Phase {
  readonly watch: TurnWatch
  readonly isFirst: boolean
  /** True if the model has finished but is called again for messages that arrived meanwhile. */
  readonly hasFinished: boolean
}

/** Status of the claims as last read by any turn of one handle, cached to avoid reading it again. */
export interface ClaimCache {
  standing?: ClaimStatus
}

export const createTurnClaim = (
  chat: ConversationHandle,
  history: LiveHistory,
  remembered: ClaimCache,
  { whileHeld, ttl, emit }: ResolvedTurnOptions,
): TurnClaim => {
  const { party, turnLog: log } = chat
  let own: { readonly revision: number; readonly at: number } | undefined
  let isLost = false
  /** Position of the last final reply. */
  let final = -1
  /** The conversation's last position when the turn last checked for work. */
  let seen = final
  /** Revision of another holder's claim that this turn takes over. */
  let overtaken: number | undefined
  let announcing: Promise<unknown> = Promise.resolve()
  let stopBeating: (() => void) | undefined

  /** Name that identifies this turn's claims in place of a step name. It is known before the store acknowledges a claim. */
  const name = `turn-${randomUUID()}`
  const isMine = ({ data: { worker, step } }: Claim): boolean =>
    party.isWorker ? worker === party.id : nameIn(step) === name
  /** Returns another holder's valid claim. A claim by this program is no longer valid if no turn of the program holds it. */
  const otherIn = ({ claim: newest }: ClaimStatus): Claim | undefined => {
    if (!newest || newest.data.at < final || isMine(newest) || newest.revision === overtaken) return undefined
    const isOver = newest.data.worker === party.id && !party.holds.has(nameIn(newest.data.step))
    return isOver ? undefined : newest
  }

  async function* look(end: TurnLog['now'] = log.now): Fallible<StoreError, ClaimStatus> {
    const { revision } = yield* end()
    const before = remembered.standing
    if (before?.revision === revision) return before
    return (remembered.standing = revision < 0 ? { revision, at: START } : yield* claimStatusOf(log, final))
  }

  /** Returns the facts that claim the conversation, to be recorded after this revision. */
  const claimFacts = (at: number, revision: number): readonly TurnFact[] => {
    party.holds.add(name)
    const data = { step: `${name}@${at}`, worker: party.id, attempt: 1, isTurn: true as const, at }
    const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at } }] : []
    return [...begun, { type: 'TurnClaimed', data }]
  }

  const recorded = (facts: readonly TurnFact[], { revision }: TurnsEnd): void => {
    const index = facts.findIndex(({ type }) => type === 'TurnClaimed')
    const claimed = facts[index]
    if (!claimed) return
    own = { revision: revision - (facts.length - 1 - index), at: claimed.data.at }
    stopBeating ??= party.live(ttl)
  }

  /** Claims the conversation. Fails with a `Conflict` if the log of turns has grown meanwhile. */
  async function* claim(at: number, { revision }: ClaimStatus): Fallible<WriteError, void> {
    const facts = claimFacts(at, revision)
    recorded(facts, yield* log.append(facts, revision))
  }

  /** Waits until another holder's claim has ended or that holder counts as dead. */
  async function* wait(other: Claim, now: Effective, watch: TurnWatch): Fallible<HoldError, void> {
    if (whileHeld === 'fail') return yield turnHeld(chat.id, other.data.worker)
    emit({ type: 'held', by: other.data.worker })
    const work = { context: now.at, seen: now.at, endedBy: [], isWaiting: true }
    const { result } = await watch.during(work, (signal) => run(untilFree(other, signal)))
    if (yield* unwrap(result)) overtaken = other.revision
  }

  /** Waits until a claim is over (false), or its holder has ended or was silent for `ttl` ms and counts as dead (true). */
  async function* untilFree(claimed: Claim, signal: AbortSignal): Fallible<HoldError, boolean> {
    const { clock, isGone, lookEvery } = party
    const { worker } = claimed.data
    const life = workerStreamOf(worker)
    const over = new AbortController()
    let heardAt = clock.now()
    const left = (): number => heardAt + ttl - clock.now()
    let news = Promise.withResolvers<void>()
    const hear = ({ stream }: RecordedEvent): void => {
      if (stream === life) heardAt = clock.now()
      news.resolve()
    }
    try {
      await chat.changes(hear, over.signal, [life])
      for (;;) {
        news = Promise.withResolvers()
        yield* history()
        ;({ final } = yield* history.asked())
        if (otherIn(yield* look())?.revision !== claimed.revision) return false
        if (left() <= 0 || (yield* isGone(worker))) return true
        const cancel = clock.after(Math.max(0, Math.min(left(), lookEvery)), news.resolve)
        await orAborted(news.promise, signal).catch(() => {})
        cancel()
        if (signal.aborted) return yield modelAborted(signal)
      }
    } finally {
      over.abort()
    }
  }

  /** Claims the conversation if another program or worker might claim it. */
  async function* enterAsProgram(
    given: Effective,
    { watch, isFirst }: Phase,
  ): Fallible<HoldError, Effective> {
    await announcing
    let now = given
    let hasLooked = false
    let hasWaited = false
    /** Claims the conversation if necessary. Returns false if the turn had to wait, and must try again. */
    async function* attempt(): Fallible<HoldError, boolean> {
      const asked = yield* history.asked()
      ;({ final } = asked)
      if (own && own.at >= final) return true
      if (!isFirst && !asked.isAsked && !own) return true
      const standing = yield* look(isFirst && !hasLooked ? log.end : log.now)
      hasLooked = true
      const other = otherIn(standing)
      const isRequested = standing.requestedAt !== undefined && standing.requestedAt >= final
      const matters = own || other || hasWaited || asked.isAsked || isRequested || openCalls(now).length > 0
      if (!matters || !isToDo(now)) return true
      if (other && !isFirst) {
        // Another holder has continued the conversation, so this turn's view of it is outdated.
        isLost = true
        return yield staleContext(chat.id, now.at, now.at)
      }
      if (other && whileHeld !== 'take') {
        yield* wait(other, now, watch)
        now = yield* history()
        return false
      }
      yield* claim(now.at, standing)
      return true
    }
    while (!(yield* despiteConflicts(attempt))) hasWaited = true
    return now
  }

  /** Renews a worker's claim after a final reply, because other holders consider the worker's earlier claim ended by that reply. */
  async function* enterAsWorker({ at }: Effective, { hasFinished }: Phase): Fallible<HoldError, void> {
    if (!hasFinished) return
    ;({ final } = yield* history.asked())
    if (own && own.at >= final) return
    yield* claimUnlessLost(at)
    if (isLost) return yield staleContext(chat.id, at, at)
  }

  /** Claims the conversation. If another holder has claimed it, the turn is lost. */
  const claimUnlessLost = (at: number): Fallible<WriteError, void> =>
    despiteConflicts(async function* (): Fallible<WriteError, void> {
      const standing = yield* look()
      isLost ||= otherIn(standing) !== undefined
      if (!isLost) yield* claim(at, standing)
    })

  async function* release(revision: number, wanted: Reason): Fallible<ReadError | WriteError, void> {
    // If anything was recorded since the turn last looked, any free worker must look again.
    const isNew = wanted !== 'free' && (yield* history()).at !== seen
    yield* letGo(log, revision, (since) => {
      if (since.some(({ type }) => type === 'TurnClaimed')) return undefined
      const reason = isNew || since.some(({ type }) => type === 'CallDecided') ? 'free' : wanted
      return { type: 'TurnReleased', data: { step: `${name}@${seen}`, worker: party.id, reason, at: seen } }
    })
  }

  return {
    enter: async function* (now, phase): Fallible<HoldError, Effective> {
      if (party.isWorker) yield* enterAsWorker(now, phase)
      const entered = party.isWorker ? now : yield* enterAsProgram(now, phase)
      seen = entered.at
      return entered
    },
    along: async function* (at, revision): Fallible<StoreError, readonly TurnFact[]> {
      await announcing
      if (own || party.isWorker) return []
      if (remembered.standing?.revision !== revision) isLost ||= otherIn(yield* look()) !== undefined
      return claimFacts(at, revision)
    },
    recorded,
    announce: async (at) => {
      if (own || party.isWorker || isLost) return
      announcing = run(claimUnlessLost(at))
      await announcing
    },
    isTakenIn: (facts) => {
      const newest = facts.findLast((fact): fact is Claim => fact.type === 'TurnClaimed')
      isLost ||= newest !== undefined && !isMine(newest)
      return isLost
    },
    isLost: () => isLost,
    hasClaimed: () => own !== undefined,
    leave: async (lastFinal, reason) => {
      await announcing
      stopBeating?.()
      party.holds.delete(name)
      if (!own) return
      const { revision, at } = own
      // A final reply ends the claims before it, but not a claim made after it to check for more work.
      if (party.isWorker || isLost || (lastFinal !== undefined && at < lastFinal)) return
      // If the release cannot be recorded, others infer it from this holder's silence.
      await run(release(revision, reason))
    },
  }
}

const nameIn = (step: string): string => step.slice(0, step.lastIndexOf('@'))
