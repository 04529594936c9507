import type { ConversationEvent } from '../../events/events.ts'
import { catchTyped, unwrap, type Fallible } from '../../result/fallible.ts'
import type { ReadError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import type { Own } from './lineage.ts'
import { openAt } from './log.ts'
import { decodeAll, pages } from './reader.ts'

/** Number of newest events to read first. Usually, fewer events than this are new. */
const few = 4

/**
 * Reads the events currently recorded after an existing position, in order. Takes one read if only a few events are new and the handle
 * knows the lineage.
 */
export async function* later(
  store: EventStore,
  conversation: string,
  own: Own,
  position: number,
): Fallible<ReadError, readonly ConversationEvent[]> {
  const [stretch] = own.lineage ?? []
  if (stretch && position + 1 >= stretch.offset) {
    const { stream, offset } = stretch
    const from = Number.MAX_SAFE_INTEGER
    const newest = yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: few }))
    const oldest = newest.at(-1)
    // The events of an unfinished import may never count, so they are not used.
    if (oldest && !newest[0]?.part && offset + oldest.revision <= position + 1) {
      if (newest[0] && own.lineage) own.saw?.(own.lineage, newest[0])
      const events = newest.filter(({ revision }) => offset + revision > position)
      return yield* unwrap(decodeAll(events.toReversed(), stretch))
    }
  }
  const { reading, last } = yield* unwrap(openAt(store, conversation, undefined, own))
  return yield* catchTyped(async () => {
    const events: ConversationEvent[] = []
    for await (const page of pages(reading, position + 1, last)) events.push(...page)
    return events
  })
}
