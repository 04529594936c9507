import * as E from 'fp-ts/lib/Either.js'
import { decode, hashOf } from '../events/codec.ts'
import { formHashOf, takeErased } from '../events/erased-form.ts'
import type { Fallible } from '../result/fallible.ts'
import { pacer } from '../store/breath.ts'
import { isOfEvent, type StoreError } from '../store/errors.ts'
import { pagesOf } from '../store/pages.ts'
import type { EventStore, RecordedEvent } from '../store/port.ts'
import { brokenChain, type LogDiscrepancy, unreadableAt } from './discrepancy.ts'
import type { Lineage, StreamSegment } from './reading/lineage.ts'
import { noErasure, notAsErased } from './verify-beside.ts'

/**
 * Verifies the events that a fork inherited: that each has the hash that the next one records, and that an event explains each erased
 * one. Their views are verified with the conversations that they belong to.
 *
 * @param inherited the fork's lineage without its own stream
 */
export async function* verifyInherited(
  store: EventStore,
  inherited: Lineage,
): Fallible<StoreError, LogDiscrepancy | undefined> {
  let prev: string | null = null
  const pace = pacer()
  for (const segment of inherited.toReversed()) {
    const { conversation, stream, offset, last } = segment
    const checker = checkerOf(segment, prev)
    let position = offset
    let found: LogDiscrepancy | undefined
    for await (const page of pagesOf(store, stream)) {
      if (E.isLeft(page)) {
        if (!isOfEvent(page.left)) return yield page.left
        if (position <= last) found = unreadableAt(position, page.left)
        break
      }
      for (const stored of page.right) {
        if (found || checker.isDone(position)) break
        const pause = pace(stored.data.length)
        if (pause) await pause
        found = checker.next(stored, position++)
      }
      if (found || checker.isDone(position)) break
    }
    found ??= checker.end()
    if (found)
      return {
        ...found,
        message: `inherited from ${conversation}: ${found.message}`,
        inheritedFrom: conversation,
      }
    prev = checker.prev()
  }
  return undefined
}

/**
 * Checks a stream through the fork position. If erased events are then unexplained, the events after it are read only for what explains
 * these.
 */
const checkerOf = ({ stream, offset, last }: StreamSegment, before: string | null) => {
  let prev = before
  /** Hashes of what is left of the erased events that no event has explained yet, by position. */
  const forms = new Map<number, string>()
  const unexplained = (): number | undefined => forms.keys().find((position) => position <= last)
  return {
    prev: () => prev,
    isDone: (position: number): boolean => position > last && unexplained() === undefined,
    next: (stored: RecordedEvent, position: number): LogDiscrepancy | undefined => {
      const isInherited = position <= last
      const { revision } = stored
      const decoded = decode(stored, { stream, revision, position })
      if (E.isLeft(decoded)) return isInherited ? unreadableAt(position, decoded.left) : undefined
      const event = decoded.right
      if (isInherited && (offset + revision !== position || event.metadata.prev !== prev))
        return { position, kind: 'chain', message: brokenChain }
      if (isInherited) prev = hashOf(stored)
      if (event.metadata.erased) forms.set(position, formHashOf(stored))
      const gone = event.type === 'Erased' ? event.data.events : undefined
      const other = gone && takeErased(gone, forms)
      if (other === undefined || other > last) return undefined
      return { position: other, kind: 'erased', message: notAsErased }
    },
    end: (): LogDiscrepancy | undefined => {
      const position = unexplained()
      return position === undefined ? undefined : { position, kind: 'erased', message: noErasure }
    },
  }
}
