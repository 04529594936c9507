import type * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound } from '../../commands/rejections.ts'
import { hashOf } from '../../events/codec.ts'
import type { Actor } from '../../events/events.ts'
import { eventId, notesStreamOf } from '../../events/ids.ts'
import { type NoteFact, noteCodec, type NoteEvent } from '../../events/notes.ts'
import { ok, run, type Steps } from '../../result/steps.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import { eventMissing } from '../../store/dense.ts'
import { importUnfinished, type NoteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { readStreamEnd } from '../../store/whole/whole-writes.ts'
import {
  completeEnvelope,
  type CompleteEnvelope,
  type CommandEnvelope,
  metadataOf,
} from '../writing/encode.ts'
import { lastPosition, readConversationEnd } from '../reading/ends.ts'
import { inOrder } from '../writing/in-order.ts'

/** A fact whose place in the conversation is not known yet. */
export type NewFact = (at: number) => NoteFact

export type NoteWriter = (
  conversation: string,
  fact: NewFact,
  envelope: CommandEnvelope,
) => Promise<E.Either<NoteError, NoteEvent>>

/**
 * Writes facts beside conversations that are there. It looks at the conversation's end, and appends nothing to it. Facts of this process
 * about one conversation are recorded in the order in which they were given.
 */
export const noteWriter = (store: EventStore, defaultActor: Actor): NoteWriter => {
  const queue = inOrder()
  return (conversation, fact, envelope) => {
    const complete = completeEnvelope(envelope, defaultActor)
    return queue(conversation, (done) =>
      run(despiteConflicts(() => writeOnce(store, conversation, fact, complete))).finally(done),
    )
  }
}

async function* writeOnce(
  store: EventStore,
  conversation: string,
  fact: NewFact,
  envelope: CompleteEnvelope,
): Steps<NoteError, NoteEvent> {
  const stream = notesStreamOf(conversation)
  const { commandId, isNamed } = envelope
  const [ending, beside] = await Promise.all([
    run(readConversationEnd(store, conversation)),
    run(readStreamEnd(store, stream)),
  ])
  const { lineage, last } = yield* ok(ending)
  const { last: before, unfinished } = yield* ok(beside)
  if (!last) return yield conversationNotFound(conversation)
  if (unfinished) return yield importUnfinished(conversation)
  const id = isNamed ? eventId(stream, commandId, 0) : commandId
  const earlier = isNamed ? (yield* ok(store.find(stream, id))).revision : undefined
  if (earlier !== undefined) return yield* noteAt(store, stream, earlier)
  const at = lastPosition({ lineage, revision: last.revision })
  const stored = yield* ok(
    noteCodec.encode(fact(at), id, { ...metadataOf(envelope), prev: before ? hashOf(before) : null }),
  )
  const expected = before?.revision ?? -1
  yield* ok(store.append({ stream, events: [stored], expected, findable: isNamed, isNew: !isNamed }))
  // Read, and not taken for what was sent: a repeat of somebody else may have another time.
  return yield* noteAt(store, stream, expected + 1)
}

async function* noteAt(store: EventStore, stream: string, revision: number): Steps<NoteError, NoteEvent> {
  const read = yield* ok(store.read({ stream, from: revision, direction: 'forwards', limit: 1 }))
  const [event] = read
  return event ? yield* ok(noteCodec.decode(event, event)) : yield eventMissing(stream, revision)
}
