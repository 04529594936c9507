import * as E from 'fp-ts/lib/Either.js'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import { eventId, inboxStreamOf, streamOf } from '../../events/ids.ts'
import { inboxCodec, type InboxEvent, type InboxFact } from '../../events/inbox-events.ts'
import type { NewMessage } from '../../events/new-message.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { eventMissing } from '../../store/dense.ts'
import type { StoreError } from '../../store/errors.ts'
import { backwards } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { completeEnvelope, type CommandEnvelope } from '../writing/encode.ts'
import { sideStream } from './side-stream.ts'

type Writes<A> = Fallible<StoreError | InvalidInput | EventTooLarge, A>
export type QueuedMessage = InboxEvent<'Queued'>

/** The queue of messages that the user sends while the model is busy. */
export interface Inbox {
  /**
   * Reads the queued messages that are not yet recorded as moved to the conversation, in the order in which they were sent.
   *
   * @param at limits the read to events recorded while the conversation ended at or before this position; default: no limit
   */
  readonly pending: (at?: number) => Fallible<StoreError, readonly QueuedMessage[]>
  /** Reports whether `pending` last found no messages in the queue, at this revision of the inbox stream or a later one. */
  readonly wasEmptyAt: (revision: number) => boolean
  /** Returns the message queued under a command id, whether or not it has been moved to the conversation. */
  readonly find: (commandId: string) => Fallible<StoreError, QueuedMessage | undefined>
  /** Reports whether the command with this id has appended events to the conversation's own stream. */
  readonly isSaid: (commandId: string) => Fallible<StoreError, boolean>
  /**
   * Queues messages. A repeat under the same `commandId` writes nothing.
   *
   * @param at the conversation's last position
   */
  readonly queue: (
    messages: readonly NewMessage[],
    at: number,
    envelope: CommandEnvelope,
  ) => Writes<QueuedMessage>
  /** Records that all messages queued up to and including revision `through` are in the conversation, whose last position is `at`. */
  readonly take: (through: number, at: number) => Writes<void>
}

/** Number of events to read at once. It is small because most inboxes are empty. */
const page = 32

export const inboxOf = (store: EventStore, actor: Actor, conversation: string): Inbox => {
  const stream = inboxStreamOf(conversation)
  const side = sideStream<InboxFact, InboxEvent>(store, { stream, of: conversation }, inboxCodec)

  /** Last revision of the inbox stream when `pending` last read it and found no messages; undefined if messages were pending. */
  let empty: number | undefined

  async function* pending(at = Infinity): Fallible<StoreError, readonly QueuedMessage[]> {
    const queued: QueuedMessage[] = []
    let taken = -1
    let last = -1
    for await (const recorded of backwards(store, stream, { limit: page })) {
      const read = yield* unwrap(recorded)
      const event = yield* unwrap(inboxCodec.decode(read, read))
      last = Math.max(last, event.revision)
      if (event.data.at <= at) {
        if (event.type === 'Queued') queued.push(event)
        else taken = Math.max(taken, event.data.through)
      }
      // All earlier messages have already been taken.
      if (event.revision - 1 <= taken) break
    }
    const left = queued.filter(({ revision }) => revision > taken).toReversed()
    if (at === Infinity) empty = left.length === 0 ? last : undefined
    return left
  }

  async function* find(commandId: string): Fallible<StoreError, QueuedMessage | undefined> {
    const found = yield* side.find(commandId)
    return found && (yield* queuedIn(found))
  }

  async function* queuedIn(event: InboxEvent): Fallible<StoreError, QueuedMessage> {
    return event.type === 'Queued' ? event : yield eventMissing(stream, event.revision)
  }

  return {
    pending,
    wasEmptyAt: (revision) => empty !== undefined && empty >= revision,
    find,
    isSaid: async function* (commandId): Fallible<StoreError, boolean> {
      const own = streamOf(conversation)
      return (yield* unwrap(store.find(own, eventId(own, commandId, 0)))).revision !== undefined
    },
    queue: async function* (messages, at, envelope): Writes<QueuedMessage> {
      const fact: InboxFact = { type: 'Queued', data: { messages, at } }
      return yield* queuedIn(yield* side.record(() => E.right(fact), completeEnvelope(envelope, actor)))
    },
    take: (through, at) =>
      despiteConflicts(async function* (): Writes<void> {
        const [first] = yield* pending()
        if (first === undefined || first.revision > through) return
        const fact: InboxFact = { type: 'Taken', data: { through, at } }
        yield* side.append([fact], yield* side.end(), completeEnvelope({}, actor))
      }),
  }
}
