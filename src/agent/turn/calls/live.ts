import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../../../conversation/conversation.ts'
import type { WriteResult } from '../../../conversation/writing/encode.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { sizeOf } from '../../../conversation/reading/moments.ts'
import { configured, type Effective, evolved } from '../../../projections/effective.ts'
import { ok, run, type Steps } from '../../../result/steps.ts'
import type { ReadError, StoreError } from '../../../store/errors.ts'
import { afterOther, type TurnDemand, askedAfter, askedUpTo } from './asked.ts'

/** The effective history as of now, each time it is called. */
export interface LiveHistory {
  (): Steps<ReadError, Effective>
  /** What waits in the inbox, as of now. */
  readonly mail: () => Steps<StoreError, readonly QueuedMessage[]>
  /**
   * Begins to read what the next call of each gives, beside whatever else there is to do. If that call comes much later, it reads again.
   *
   * @param hasMail false: the inbox need not be read, nothing waits in it as far as is known. It is read again before a turn ends
   * @returns the last position
   */
  readonly begin: (hasMail?: boolean) => Promise<E.Either<ReadError, number>>
  /** The turn has written something. After a configuration, nothing has to be read before it continues. */
  readonly wrote: (written: WriteResult) => void
  /** What was asked of workers, as of the history that was given last. */
  readonly asked: () => Steps<ReadError, TurnDemand>
  /** How much is kept, in characters of JSON. */
  readonly size: () => number
}

/** For so many milliseconds, what was begun to be read counts as what is there now. */
const fresh = 100

interface Begun {
  readonly since: number
  history?: Promise<E.Either<ReadError, Effective>> | undefined
  mail?: Promise<E.Either<StoreError, readonly QueuedMessage[]>> | undefined
}

/** Keeps the history that it last gave and takes in what has happened since: a turn of a long conversation reads only what is new. */
export const liveHistory = (chat: Conversation): LiveHistory => {
  let known: { readonly now: Effective; readonly asked?: TurnDemand | undefined } | undefined
  let begun: Begun | undefined

  /** Takes what was begun, once. */
  const taken = <K extends 'history' | 'mail'>(what: K): Begun[K] => {
    const isNow = begun && chat.party.clock.now() - begun.since < fresh
    const reading = begun?.[what]
    delete begun?.[what]
    return isNow ? reading : undefined
  }
  async function* history(): Steps<ReadError, Effective> {
    const first = taken('history')
    return first ? yield* ok(first) : yield* read()
  }
  async function* mail(): Steps<StoreError, readonly QueuedMessage[]> {
    const first = taken('mail')
    return first ? yield* ok(first) : yield* chat.inbox.pending()
  }
  async function* read(): Steps<ReadError, Effective> {
    // Another turn of the conversation may call it meanwhile.
    const before = known
    const later = before ? yield* chat.later(before.now.at) : []
    const next = before && evolved(before.now, later)
    const now = next ?? (yield* ok(chat.context()))
    known = { now, asked: next && before?.asked && later.reduce(askedAfter, before.asked) }
    return now
  }
  async function* asked(): Steps<ReadError, TurnDemand> {
    const { now, asked: before } = known ?? { now: yield* history() }
    if (before) return before
    const found = yield* askedUpTo(chat, now.at)
    if (known?.now === now) known = { now, asked: found }
    return found
  }
  const nothing = Promise.resolve(E.right([]))
  const begin = (hasMail = true): Promise<E.Either<ReadError, number>> => {
    const reading = run(read())
    const mailing = hasMail ? run(chat.inbox.pending()) : nothing
    const last = reading.then(E.map(({ at }) => at))
    begun = { since: chat.party.clock.now(), history: reading, mail: mailing }
    // A bug in one that nobody comes to need.
    for (const each of [reading, mailing, last]) each.catch(() => {})
    return last
  }
  const wrote = ({ position, events }: WriteResult): void => {
    const [event, more] = events
    if (event?.type !== 'Configured' || !event.data || more || known?.now.at !== position - 1) return
    const now = configured(known.now, position, event.data)
    known = { now, asked: known.asked && afterOther(known.asked) }
    begun = {
      since: chat.party.clock.now(),
      history: Promise.resolve(E.right(now)),
      mail: nothing,
    }
  }
  const size = (): number => (known ? sizeOf(known.now) : 0)
  return Object.assign(history, { mail, begin, wrote, asked, size })
}
