import type * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import { eventId, inboxStreamOf, streamOf } from '../../events/ids.ts'
import { inboxCodec, type InboxEvent, type InboxFact } from '../../events/inbox-events.ts'
import type { NewMessage } from '../../events/new-message.ts'
import { ok, type Steps } from '../../result/steps.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { eventMissing } from '../../store/dense.ts'
import { importUnfinished, type StoreError } from '../../store/errors.ts'
import type { EventStore, RecordedEvent } from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'
import {
  completeEnvelope,
  type CompleteEnvelope,
  type CommandEnvelope,
  metadataOf,
} from '../writing/encode.ts'

type Writes<A> = Steps<StoreError | InvalidInput | EventTooLarge, A>
export type QueuedMessage = InboxEvent<'Queued'>

/** Holds what the user says while the model is busy. */
export interface Inbox {
  /**
   * What is not known to be in the conversation, in the order in which it was said.
   *
   * @param at by what was recorded while the conversation ended at this position or before it; default: by all
   */
  readonly pending: (at?: number) => Steps<StoreError, readonly QueuedMessage[]>
  /** Whether `pending` has found nothing when the stream ended with that revision, or later. */
  readonly wasEmptyAt: (revision: number) => boolean
  /** What was queued under a command id, moved or not. */
  readonly find: (commandId: string) => Steps<StoreError, QueuedMessage | undefined>
  /** Whether a command of this id has written to the conversation itself. */
  readonly isSaid: (commandId: string) => Steps<StoreError, boolean>
  /** Queues messages. A repeat under the same `commandId` writes nothing. @param at the conversation's last position */
  readonly queue: (
    messages: readonly NewMessage[],
    at: number,
    envelope: CommandEnvelope,
  ) => Writes<QueuedMessage>
  /** Records that all through this revision is in the conversation, whose last position is `at`. */
  readonly take: (through: number, at: number) => Writes<void>
}

/** How many events are read at once: most inboxes are empty. */
const page = 32

export const inboxOf = (store: EventStore, actor: Actor, conversation: string): Inbox => {
  const stream = inboxStreamOf(conversation)

  /** The last revision when there was nothing pending. */
  let empty: number | undefined

  const decoded = (event: RecordedEvent): E.Either<StoreError, InboxEvent> => inboxCodec.decode(event, event)

  async function* pending(at = Infinity): Steps<StoreError, readonly QueuedMessage[]> {
    const queued: QueuedMessage[] = []
    let taken = -1
    let last = -1
    for (let from = Number.MAX_SAFE_INTEGER; from > taken;) {
      const events = yield* ok(store.read({ stream, from, direction: 'backwards', limit: page }))
      last = Math.max(last, events[0]?.revision ?? -1)
      for (const recorded of events) {
        if (recorded.revision <= taken) break
        const event = yield* ok(decoded(recorded))
        if (event.data.at > at) continue
        if (event.type === 'Queued') queued.push(event)
        else taken = Math.max(taken, event.data.through)
      }
      from = (events.at(-1)?.revision ?? 0) - 1
    }
    const left = queued.filter(({ revision }) => revision > taken).toReversed()
    if (at === Infinity) empty = left.length === 0 ? last : undefined
    return left
  }

  async function* queuedAt(revision: number): Steps<StoreError, QueuedMessage> {
    const [event] = yield* ok(store.read({ stream, from: revision, direction: 'forwards', limit: 1 }))
    const read = event && (yield* ok(decoded(event)))
    return read?.type === 'Queued' ? read : yield eventMissing(stream, revision)
  }

  async function* find(commandId: string): Steps<StoreError, QueuedMessage | undefined> {
    const { revision } = yield* ok(store.find(stream, eventId(stream, commandId, 0)))
    return revision === undefined ? undefined : yield* queuedAt(revision)
  }

  async function* writeOnce(fact: InboxFact, envelope: CompleteEnvelope): Writes<number> {
    const { last, unfinished } = yield* readStreamEnd(store, stream)
    if (unfinished) return yield importUnfinished(conversation)
    const { commandId, isNamed } = envelope
    const id = isNamed ? eventId(stream, commandId, 0) : commandId
    const metadata = { ...metadataOf(envelope), prev: last ? hashOf(last) : null }
    const stored = yield* ok(inboxCodec.encode(fact, id, metadata))
    const expected = last?.revision ?? -1
    yield* ok(store.append({ stream, events: [stored], expected, findable: isNamed, isNew: !isNamed }))
    return expected + 1
  }

  /** @param isDone whether it has been written or has become needless */
  async function* write(
    fact: InboxFact,
    given: CommandEnvelope,
    isDone: () => Steps<StoreError, boolean>,
  ): Writes<number | undefined> {
    const envelope = completeEnvelope(given, actor)
    async function* attempt(): Writes<number | undefined> {
      return (yield* isDone()) ? undefined : yield* writeOnce(fact, envelope)
    }
    return yield* despiteConflicts(attempt)
  }

  return {
    pending,
    wasEmptyAt: (revision) => empty !== undefined && empty >= revision,
    find,
    isSaid: async function* (commandId): Steps<StoreError, boolean> {
      const own = streamOf(conversation)
      return (yield* ok(store.find(own, eventId(own, commandId, 0)))).revision !== undefined
    },
    queue: async function* (messages, at, envelope): Writes<QueuedMessage> {
      const { commandId } = envelope
      let there: QueuedMessage | undefined
      const fact: InboxFact = { type: 'Queued', data: { messages, at } }
      const revision = yield* write(fact, envelope, async function* (): Steps<StoreError, boolean> {
        there = commandId === undefined ? undefined : yield* find(commandId)
        return there !== undefined
      })
      return there ?? (yield* queuedAt(revision ?? 0))
    },
    take: async function* (through, at): Writes<void> {
      const fact: InboxFact = { type: 'Taken', data: { through, at } }
      yield* write(fact, {}, async function* (): Steps<StoreError, boolean> {
        const [first] = yield* pending()
        return first === undefined || first.revision > through
      })
    },
  }
}
