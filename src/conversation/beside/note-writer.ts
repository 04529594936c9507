import type * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound } from '../../commands/rejections.ts'
import type { Actor } from '../../events/events.ts'
import type { NoteFact, NoteEvent } from '../../events/notes.ts'
import { run, unwrap, type Fallible } from '../../result/fallible.ts'
import type { NoteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { lastPosition, readConversationEnd } from '../reading/ends.ts'
import { completeEnvelope, type CommandEnvelope } from '../writing/encode.ts'
import { inOrder } from '../writing/in-order.ts'
import { notesOf } from './note-reader.ts'

/** A function that builds a note or link for the conversation's last position. */
export type NewFact = (at: number) => NoteFact

export type NoteWriter = (
  conversation: string,
  fact: NewFact,
  envelope: CommandEnvelope,
) => Promise<E.Either<NoteError, NoteEvent>>

/**
 * Returns a function that records notes and links of existing conversations. It reads the end of the conversation but appends nothing
 * to it. Notes and links of one conversation that this process writes are recorded in the order of the calls.
 */
export const noteWriter = (store: EventStore, defaultActor: Actor): NoteWriter => {
  const queue = inOrder()
  return (conversation, fact, envelope) => {
    const complete = completeEnvelope(envelope, defaultActor)
    async function* factNow(): Fallible<NoteError, NoteFact> {
      const { lineage, last } = yield* unwrap(readConversationEnd(store, conversation))
      return last
        ? fact(lastPosition({ lineage, revision: last.revision }))
        : yield conversationNotFound(conversation)
    }
    return queue(conversation, (done) =>
      run(notesOf(store, conversation).record(() => run(factNow()), complete)).finally(done),
    )
  }
}
