import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../../events/codec.ts'
import type { DecodeFailed } from '../../events/errors.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import type { Chain } from './encode.ts'
import { type ChainEnd, lastPosition } from '../reading/ends.ts'

/** Returns the events appended after a conversation's end, in the form in which they will be read. */
export const placeEvents = (
  conversation: string,
  end: ChainEnd,
  { events }: Chain,
): E.Either<DecodeFailed, readonly ConversationEvent[]> => {
  const stream = streamOf(conversation)
  const read: ConversationEvent[] = []
  for (const [index, event] of events.entries()) {
    const revision = end.revision + 1 + index
    const decoded = decode(event, { stream, revision, position: lastPosition(end) + 1 + index })
    if (E.isLeft(decoded)) return decoded
    read.push(decoded.right)
  }
  return E.right(read)
}
