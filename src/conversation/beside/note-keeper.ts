import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { InvalidInput } from '../../events/errors.ts'
import type { Actor } from '../../events/events.ts'
import type { NoteEvent, NoteType } from '../../events/notes.ts'
import type { CommandEnvelope } from '../writing/encode.ts'
import { type NoteIndex, noteIndex, type OnUnreadable } from './note-index.ts'
import { type NotesOptions, readNotes, readOwnLinks } from './note-reader.ts'
import { orNearest } from '../reading/nearest-conversation.ts'
import { type NewFact, type NoteWriter, noteWriter } from './note-writer.ts'
import { type Link, linkOf, type Note, noteOf } from '../../projections/notes.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import type { ReadError, NoteError } from '../../store/errors.ts'
import { checkOptions, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import { objectOf, splitEnvelope } from '../writing/envelope.ts'
import { newLink, type NewLink, newNote, type NewNote } from './new-notes.ts'

/**
 * Methods for a conversation's notes and links. Notes and links are not part of the conversation's history, have no position in it, and
 * do not make `after` stale.
 */
export interface NoteKeeper<W extends ResultStyle = 'task'> {
  /**
   * Adds a note to the conversation, which must exist. A repeat under the same `commandId` writes nothing and returns the first note.
   * Errors: `ConversationNotFound`, `InvalidInput`, `EventTooLarge`, a `StoreError`.
   *
   * @example
   * await chat.note({ kind: 'title', data: 'Fix the parser' })
   * await chat.note({ kind: 'my-agent/progress', data: { step: 3, of: 9 } })
   */
  readonly note: (note: NewNote, options?: CommandEnvelope) => MethodResult<W, NoteError, Note>
  /**
   * Links the conversation to another conversation or to a target outside the store. A later link with the same relation and target is
   * merged into the earlier one. Errors: as for `note`.
   *
   * @example
   * await chat.link({ relation: 'subagent-of', conversation: 'task-42', position: 6, call: 'toolu_1' })
   */
  readonly link: (link: NewLink, options?: CommandEnvelope) => MethodResult<W, NoteError, Link>
  /**
   * Reads the notes (by default all of them) in the order in which they were recorded, regardless of rewinds. For a fork, includes its
   * parent's notes recorded at or before the fork position. Errors: a `ReadError`.
   *
   * @example
   * const [title] = await chat.notes({ kind: 'title', last: 1 })
   */
  readonly notes: (options?: NotesOptions) => MethodResult<W, ReadError, readonly Note[]>
  /**
   * Reads the conversation's links, deduplicated, followed by links to it from other conversations in the store (`from` names the other
   * conversation). A fork does not inherit its parent's links. Conversations whose notes cannot be read are skipped, and `onUnreadable`
   * is called for each. Errors: a `ReadError`.
   *
   * @example
   * for (const { relation, conversation } of await chat.links()) console.log(relation, conversation)
   */
  readonly links: (options?: LinksOptions) => MethodResult<W, ReadError, readonly Link[]>
}

/** Options for reading links. */
export interface LinksOptions {
  /**
   * Called with the id of each conversation whose notes cannot be read, and the reason. Such a conversation may contain a link to this
   * one.
   */
  readonly onUnreadable?: OnUnreadable | undefined
}

export interface NoteStore {
  readonly write: NoteWriter
  readonly index: NoteIndex
}

export const noteStore = (store: EventStore, actor: Actor): NoteStore => ({
  write: noteWriter(store, actor),
  index: noteIndex(store),
})

// The envelope's own schema checks the values.
const envelopeFields = {
  commandId: kinds.anything,
  actor: kinds.anything,
  now: kinds.anything,
  correlationId: kinds.anything,
  causationId: kinds.anything,
}

const noteOptions = { kind: kinds.text, last: kinds.count, from: kinds.first, limit: kinds.several }

export const createNoteKeeper = (
  store: EventStore,
  { write, index }: NoteStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): NoteKeeper => {
  const written =
    <T extends NoteType, A>(
      checked: () => E.Either<InvalidInput, NewFact>,
      options: unknown,
      answer: (event: NoteEvent<T>) => A,
    ): MethodResult<'task', NoteError, A> =>
    async () => {
      const given = pipe(
        E.Do,
        E.apS('id', checkedId),
        E.bind('fact', checked),
        E.bind('options', () => objectOf(options)),
        E.chainFirst((all) =>
          checkOptions<Omit<CommandEnvelope, 'salt' | 'interrupts' | 'answer' | 'workspace'>>(
            all.options,
            envelopeFields,
          ),
        ),
        E.bind('split', (all) => splitEnvelope(all.options)),
      )
      if (E.isLeft(given)) return given
      const { fact, split } = given.right
      const event = await orNearest(store, () => write(id, fact, split.envelope))()
      return E.map((one: NoteEvent) => answer(one as NoteEvent<T>))(event)
    }

  async function* notes(options?: NotesOptions): Fallible<ReadError, readonly Note[]> {
    const given = yield* unwrap(checkOptions(options, noteOptions))
    yield* unwrap(checkedId)
    return yield* readNotes(store, id, given)
  }

  async function* links(options: LinksOptions = {}): Fallible<ReadError, readonly Link[]> {
    const { onUnreadable = ignored } = yield* unwrap(checkOptions(options, { onUnreadable: kinds.call }))
    yield* unwrap(checkedId)
    const own = yield* readOwnLinks(store, id)
    const others = yield* index.linksTo(id, onUnreadable)
    return [...own, ...others.filter(({ from }) => from !== id)]
  }

  return {
    note: (note, options = {}) =>
      written<'Noted', Note>(
        () => newNote(note),
        options,
        (event) => noteOf(id, event),
      ),
    link: (link, options = {}) =>
      written<'Linked', Link>(
        () => newLink(link),
        options,
        (event) => linkOf(id, event),
      ),
    notes: (options) =>
      orNearest(
        store,
        task(() => notes(options)),
      ),
    links: (options) =>
      orNearest(
        store,
        task(() => links(options)),
      ),
  }
}

const ignored = (): void => undefined
