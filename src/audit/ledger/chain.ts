import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import type { Lineage } from '../../conversation/reading/lineage.ts'
import { orThrow } from '../../result/fallible.ts'
import { pacer } from '../../store/breath.ts'
import { isLoss } from '../../store/errors.ts'
import { pagesOf } from '../../store/pages.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'

/**
 * Checks the hash chain of a conversation and of the conversations that it was forked from, up to and including the position `through`.
 * Throws a `StoreError`.
 *
 * @returns the position of the first event that cannot be read or does not contain the hash of the preceding event, which shows that
 * one of the two was changed or that an event between them is missing; Infinity if the chain is intact
 */
export const findBreak = async (store: EventStore, lineage: Lineage, through: number): Promise<number> => {
  const pace = pacer()
  let head: string | null = null
  let position = 0
  for (const { stream, offset, last } of lineage.toReversed()) {
    const to = Math.min(last, through) - offset
    for await (const page of pagesOf(store, stream, { to })) {
      if (E.isLeft(page) && isLoss(page.left)) return position
      for (const event of await orThrow(page)) {
        if (prevOf(event) !== head) return position
        head = hashOf(event)
        position++
        const pause = pace(event.data.length)
        if (pause) await pause
      }
    }
  }
  return Infinity
}

const prevOf = ({ metadata }: RecordedEvent): unknown => {
  try {
    return (JSON.parse(metadata) as { readonly prev?: unknown } | null)?.prev
  } catch {
    return undefined
  }
}
