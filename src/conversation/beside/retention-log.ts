import type * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import { retentionRunsStream, retentionStream } from '../../events/ids.ts'
import {
  retentionCodec,
  type RetentionData,
  type RetentionFact,
  type RetentionPeriod,
} from '../../events/retention-events.ts'
import { catchTyped, type Fallible, unwrap } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { StoreError } from '../../store/errors.ts'
import { pagesOf } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { completeEnvelope } from '../writing/encode.ts'
import { sideStream } from './side-stream.ts'

/** A rule about how long content is kept. */
export interface RetentionRule {
  /** Beginning of the ids of the conversations to which the rule applies; empty for all. The rule with the longest one decides. */
  readonly prefix: string
  readonly keep: RetentionPeriod
  readonly by: string
  readonly reason?: string | undefined
  /** Time at which the rule was set, in ISO 8601. */
  readonly since: string
}

type Writes<A> = Fallible<StoreError | InvalidInput | EventTooLarge, A>

type MakeChange<Failure> = (rules: readonly RetentionRule[]) => E.Either<Failure, RetentionFact | undefined>

/** The rules of a store, and the runs that apply them. */
export interface RetentionLog {
  /** Reads the rules, sorted by prefix. Fails with `StoreCorrupt` if an event was changed or is missing. */
  readonly rules: () => Fallible<StoreError, readonly RetentionRule[]>
  /**
   * Appends a change of the rules, unless nothing is to be changed.
   *
   * @param change builds the event data from the current rules; undefined for no change. Called for each attempt
   */
  readonly change: <Failure extends { readonly _tag: string }>(
    change: MakeChange<Failure>,
  ) => Fallible<StoreError | InvalidInput | EventTooLarge | Failure, void>
  /**
   * Records that a run begins, and returns its number. With `least`, returns undefined, and records nothing, if the last run
   * began less than `least` milliseconds ago.
   */
  readonly begin: (by: string | undefined, least?: number) => Writes<number | undefined>
  readonly end: (report: RetentionData['RetentionRunEnded']) => Writes<void>
}

export const retentionLog = (store: EventStore, actor: Actor): RetentionLog => {
  const sideOf = (stream: string) => sideStream(store, { stream, of: 'retention' }, retentionCodec)
  const [side, runs] = [sideOf(retentionStream), sideOf(retentionRunsStream)]

  async function* rules(): Fallible<StoreError, readonly RetentionRule[]> {
    const found = new Map<string, RetentionRule>()
    const kept = yield* unwrap(store.keptEnd(retentionStream))
    let prev: string | null = null
    let read = -1
    for await (const page of pagesOf(store, retentionStream))
      for (const stored of yield* unwrap(page)) {
        const { type, data, metadata } = yield* unwrap(retentionCodec.decode(stored, stored))
        // A changed rule would have content erased that should be kept.
        if (metadata.prev !== prev) return yield broken(store, stored.revision)
        prev = hashOf(stored)
        read = stored.revision
        if (read === kept?.last && prev !== kept.hash) return yield broken(store, read)
        if (type === 'RetentionSet') found.set(data.prefix, { ...data, since: metadata.time })
        if (type === 'RetentionEnded') found.delete(data.prefix)
      }
    if (read < (kept?.last ?? -1)) return yield broken(store, read + 1)
    return [...found.values()].toSorted((one, other) => (one.prefix < other.prefix ? -1 : 1))
  }

  async function* lastBegun(): Fallible<StoreError, number | undefined> {
    return yield* catchTyped<StoreError, number | undefined>(async () => {
      for await (const { metadata } of runs.newest('RetentionRunBegun')) return Date.parse(metadata.time)
      return undefined
    })
  }

  return {
    rules,
    change: <Failure extends { readonly _tag: string }>(change: MakeChange<Failure>) =>
      despiteConflicts(async function* (): Fallible<
        StoreError | InvalidInput | EventTooLarge | Failure,
        void
      > {
        const end = yield* side.end()
        const fact = yield* unwrap(change(yield* rules()))
        if (fact) yield* side.append([fact], end, completeEnvelope({}, actor))
      }),
    begin: (by, least = 0) =>
      despiteConflicts(async function* (): Writes<number | undefined> {
        // Read before the last run: if another process begins one meanwhile, the append conflicts.
        const end = yield* runs.end()
        const passed = Date.now() - ((yield* lastBegun()) ?? -Infinity)
        // A negative time means that the clock was set back.
        if (passed >= 0 && passed < least) return undefined
        const fact: RetentionFact = { type: 'RetentionRunBegun', data: by === undefined ? {} : { by } }
        return (yield* runs.append([fact], end, completeEnvelope({}, actor))).revision
      }),
    end: (data) =>
      despiteConflicts(async function* (): Writes<void> {
        yield* runs.append(
          [{ type: 'RetentionRunEnded', data }],
          yield* runs.end(),
          completeEnvelope({}, actor),
        )
      }),
  }
}

const broken = ({ url }: EventStore, revision: number): StoreError => ({
  _tag: 'StoreCorrupt',
  message: `the rules of retention in ${url} were changed: event ${revision} or the one before it is not as it was written. Nothing was erased: restore a backup`,
  store: url,
})
