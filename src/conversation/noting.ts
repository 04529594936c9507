import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import { checkJson } from '../events/check.ts'
import type { InvalidInput } from '../events/errors.ts'
import type { Actor } from '../events/events.ts'
import { conversationIdSchema } from '../events/ids.ts'
import type { NoteEvent, NoteType } from '../events/notes.ts'
import type { Envelope } from '../history/encode.ts'
import { type NoteIndex, noteIndex } from '../history/note-index.ts'
import { type NotesOptions, readNotes, readOwnLinks } from '../history/note-reader.ts'
import { type NewFact, type NoteWriter, noteWriter } from '../history/note-writer.ts'
import { type Link, linkOf, type Note, noteOf } from '../projections/notes.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import type { ReadError, NoteError } from '../store/errors.ts'
import { checkedOptions, kinds } from '../store/options.ts'
import type { EventStore } from '../store/port.ts'
import { objectOf, splitEnvelope } from './envelope.ts'

/** Something to note. */
export interface NewNote {
  /** `title`, whose data is a text; or a kind of your own with your prefix: `claude-code/progress`. Up to 200 characters. */
  readonly kind: string
  /** Any JSON. */
  readonly data?: unknown
}

/** What the conversation is to another: one of `conversation` and `ref` at least. */
export interface NewLink {
  /** `subagent-of`, `continues`, `handed-over-from`, or a word of your own; read as "this conversation is … that one". */
  readonly relation: string
  /** The other conversation. It need not be in the store. */
  readonly conversation?: string
  /** The other end in words: a file, a URL, a name. */
  readonly ref?: string
  /** A position in the other conversation. */
  readonly position?: number
  /** Id of a tool call in the other conversation. */
  readonly call?: string
}

/** Facts beside a conversation. They are no part of its history, take no position of it, and make no `after` stale. */
export interface Noting {
  /**
   * Notes something about the conversation, which must be there. A repeat under the same `commandId` writes nothing and answers with the
   * note of the first time. Errors: `ConversationNotFound`, `InvalidInput`, `EventTooLarge`, a `StoreError`.
   *
   * @example
   * await chat.note({ kind: 'title', data: 'Fix the parser' })
   * await chat.note({ kind: 'my-agent/progress', data: { step: 3, of: 9 } })
   */
  readonly note: (note: NewNote, options?: Envelope) => TaskEither<NoteError, Note>
  /**
   * Links the conversation to another one. A later link of the same relation and to the same end adds to the earlier one. Errors as for
   * `note`.
   *
   * @example
   * await chat.link({ relation: 'subagent-of', conversation: 'task-42', position: 6, call: 'toolu_1' })
   */
  readonly link: (link: NewLink, options?: Envelope) => TaskEither<NoteError, Link>
  /**
   * The notes in the order in which they were recorded, rewinds or not. A fork has those of the conversation that it was forked from
   * too, as far as they were noted at or before the position of the fork. Default: all.
   *
   * @example
   * const [title] = await chat.notes({ kind: 'title', last: 1 })
   */
  readonly notes: (options?: NotesOptions) => TaskEither<ReadError, readonly Note[]>
  /**
   * The links of the conversation, each once, and after them those that other conversations of the store have to it (`from` says which).
   * A fork does not have the links of the conversation that it was forked from.
   */
  readonly links: () => TaskEither<ReadError, readonly Link[]>
}

/** What writes and finds the notes of a store. */
export interface NoteStore {
  readonly write: NoteWriter
  readonly index: NoteIndex
}

export const noteStore = (store: EventStore, actor: Actor): NoteStore => ({
  write: noteWriter(store, actor),
  index: noteIndex(store),
})

const ownKind = /^[^\s/]+(?:\/[^\s/]+)+$/
const longestKind = 200

const newNoteSchema = z
  .strictObject({ kind: z.string().max(longestKind), data: z.unknown().optional() })
  .superRefine(({ kind, data }, context) => {
    const problem = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (kind === 'title') {
      if (typeof data !== 'string' || data.trim() === '')
        problem('data', 'a title is a text that is not empty')
    } else if (!ownKind.test(kind))
      problem('kind', 'is title, or a kind with a prefix, like my-agent/progress')
  })

const newLinkSchema = z
  .strictObject({
    relation: z.string().regex(/^\S+$/, { error: 'is a word like subagent-of' }).max(longestKind),
    conversation: conversationIdSchema.optional(),
    ref: z.string().min(1).optional(),
    position: z.int().min(0).optional(),
    call: z.string().min(1).optional(),
  })
  .refine(({ conversation, ref }) => conversation !== undefined || ref !== undefined, {
    error: 'a link names the other end: give conversation or ref',
  })

/** The methods for the notes of one conversation. */
export const noting = (
  store: EventStore,
  { write, index }: NoteStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
): Noting => {
  const written =
    <T extends NoteType, A>(
      checked: () => E.Either<InvalidInput, NewFact>,
      options: unknown,
      answer: (event: NoteEvent<T>) => A,
    ): TaskEither<NoteError, A> =>
    async () => {
      const given = pipe(
        E.Do,
        E.apS('id', checkedId),
        E.bind('fact', checked),
        E.bind('options', () => objectOf(options)),
        E.bind('split', (all) => splitEnvelope(all.options)),
        E.chainFirst(({ split }) => checkedOptions(split.input, {})),
      )
      if (E.isLeft(given)) return given
      const event = await write(id, given.right.fact, given.right.split.envelope)
      return E.map((one: NoteEvent) => answer(one as NoteEvent<T>))(event)
    }

  async function* links(): Steps<ReadError, readonly Link[]> {
    yield* ok(checkedId)
    const own = yield* readOwnLinks(store, id)
    const others = yield* index.linksTo(id)
    return [...own, ...others.filter(({ from }) => from !== id)]
  }

  return {
    note: (note, options = {}) =>
      written<'Noted', Note>(
        () =>
          E.map((data: NewNote): NewFact => (at) => ({ type: 'Noted', data: { ...data, at } }))(
            checkJson(newNoteSchema, note),
          ),
        options,
        (event) => noteOf(id, event),
      ),
    link: (link, options = {}) =>
      written<'Linked', Link>(
        () =>
          E.map((data: z.infer<typeof newLinkSchema>): NewFact => (at) => ({
            type: 'Linked',
            data: { ...data, at },
          }))(checkJson(newLinkSchema, link)),
        options,
        (event) => linkOf(id, event),
      ),
    notes: (options) =>
      task(async function* (): Steps<ReadError, readonly Note[]> {
        const given = yield* ok(checkedOptions(options, { kind: kinds.text, last: kinds.count }))
        yield* ok(checkedId)
        return yield* readNotes(store, id, given)
      }),
    links: () => task(links),
  }
}
