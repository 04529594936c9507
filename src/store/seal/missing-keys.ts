import * as E from 'fp-ts/lib/Either.js'
import { streamOf } from '../../events/ids.ts'
import { type Fallible, unwrap } from '../../result/fallible.ts'
import { breath } from '../breath.ts'
import { isKeyMissing, type StoreError } from '../errors.ts'
import { namePages } from '../pages.ts'
import { type EventStore, maxPage } from '../port.ts'

/** Conversations whose keys are missing. */
export interface MissingKeys {
  /** Number of conversations that were looked at. */
  readonly conversations: number
  readonly missing: number
  /** Ids of the first of them, at most three. */
  readonly ids: readonly string[]
  /** False if the time was over before every conversation was looked at. */
  readonly isAll: boolean
}

/** Maximum number of ids that are named. */
const mostNamed = 3

/**
 * Counts the conversations of a sealed store that the given keys do not open, by their first events.
 *
 * @param most time after which counting stops, in milliseconds
 */
export async function* countMissingKeys(store: EventStore, most: number): Fallible<StoreError, MissingKeys> {
  const end = performance.now() + most
  const prefix = streamOf('')
  let [conversations, missing] = [0, 0]
  const ids: string[] = []
  for await (const page of namePages((last) => store.streams(prefix, last ?? '', maxPage)))
    for (const stream of yield* unwrap(page)) {
      if (performance.now() > end) return { conversations, missing, ids, isAll: false }
      const first = await store.read({ stream, from: 0, direction: 'forwards', limit: 1 })()
      conversations++
      if (E.isLeft(first)) {
        if (!isKeyMissing(first.left)) continue
        missing++
        if (ids.length < mostNamed) ids.push(stream.slice(prefix.length))
      }
      const pause = breath()
      if (pause) await pause
    }
  return { conversations, missing, ids, isAll: true }
}
