import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { WriteResult } from '../../../conversation/writing/encode.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { sizeOf } from '../../../conversation/reading/moments.ts'
import { configure, type Effective, evolveEffective } from '../../../projections/effective.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import { afterOther, type TurnDemand, demandAfter, demandUpTo } from './turn-demand.ts'

/** Function that returns the current effective history, with methods for what comes with it. */
export type LiveHistory = ReturnType<typeof liveHistory>

/** Milliseconds for which a read that was started early counts as current. */
const fresh = 100

interface Begun {
  readonly since: number
  history?: Promise<E.Either<ReadError, Effective>> | undefined
  mail?: Promise<E.Either<StoreError, readonly QueuedMessage[]>> | undefined
}

/** Returns a function that caches the last history and adds newer events to it: a turn of a long conversation reads only new events. */
export const liveHistory = (chat: ConversationHandle) => {
  let known:
    | { readonly now: Effective; readonly erasures: string; readonly asked?: TurnDemand | undefined }
    | undefined
  let begun: Begun | undefined

  /** Returns the read that was started early; undefined if it is too old or was already used. */
  const taken = <K extends 'history' | 'mail'>(what: K): Begun[K] => {
    const isNow = begun && chat.party.clock.now() - begun.since < fresh
    const reading = begun?.[what]
    delete begun?.[what]
    return isNow ? reading : undefined
  }
  async function* history(): Fallible<ReadError, Effective> {
    const first = taken('history')
    return first ? yield* unwrap(first) : yield* read()
  }
  /** Returns the messages currently queued in the inbox. */
  async function* mail(): Fallible<StoreError, readonly QueuedMessage[]> {
    const first = taken('mail')
    return first ? yield* unwrap(first) : yield* chat.inbox.pending()
  }
  async function* read(): Fallible<ReadError, Effective> {
    // A copy, because another turn of the conversation may change `known` during the reads.
    const before = known
    const later = before ? yield* chat.later(before.now.at) : []
    const erasures = yield* chat.inheritedErasures()
    const next = before?.erasures === erasures ? evolveEffective(before.now, later) : undefined
    const now = next ?? (yield* unwrap(chat.context()))
    known = { now, erasures, asked: next && before?.asked && later.reduce(demandAfter, before.asked) }
    return now
  }
  /** Returns the requests to workers as of the history that was returned last. */
  async function* asked(): Fallible<ReadError, TurnDemand> {
    const { now, asked: before } = known ?? { now: yield* history() }
    if (before) return before
    const found = yield* demandUpTo(chat, now.at)
    if (known?.now === now) known = { ...known, asked: found }
    return found
  }
  const nothing = Promise.resolve(E.right([]))
  /** Starts reading for the next call of each function, the inbox only if it has mail as far as is known. Returns the last position. */
  const begin = (hasMail = true): Promise<E.Either<ReadError, number>> => {
    const reading = run(read())
    const mailing = hasMail ? run(chat.inbox.pending()) : nothing
    const last = reading.then(E.map(({ at }) => at))
    begun = { since: chat.party.clock.now(), history: reading, mail: mailing }
    // Prevents an unhandled rejection, caused by a bug, of a promise that is never awaited.
    for (const each of [reading, mailing, last]) each.catch(() => {})
    return last
  }
  /** Returns the current history and the messages queued in the inbox. The next turn uses what was read if it begins at once. */
  async function* ahead(): Fallible<ReadError, { now: Effective; mail: readonly QueuedMessage[] }> {
    const [early, earlyMail] = [taken('history'), taken('mail')]
    const since = early && earlyMail && begun ? begun.since : chat.party.clock.now()
    const [reading, mailing] = [early ?? run(read()), earlyMail ?? run(chat.inbox.pending())]
    begun = { since, history: reading, mail: mailing }
    return { now: yield* unwrap(await reading), mail: yield* unwrap(await mailing) }
  }
  /** Updates the cache with an event written by the turn. After a configuration, the turn continues without reading anything. */
  const wrote = ({ position, events }: WriteResult, salt: string): void => {
    const [event, more] = events
    if (event?.type !== 'Configured' || !event.data || more || known?.now.at !== position - 1) return
    const now = configure(known.now, position, event.data, salt)
    known = { ...known, now, asked: known.asked && afterOther(known.asked) }
    begun = { since: chat.party.clock.now(), history: Promise.resolve(E.right(now)), mail: nothing }
  }
  /** Returns the size of the cached content, in characters of JSON. */
  const size = (): number => (known ? sizeOf(known.now) : 0)
  return Object.assign(history, { mail, begin, ahead, wrote, asked, size })
}
