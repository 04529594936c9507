import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { check } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import { conversationIdSchema, isConversationId } from '../events/ids.ts'
import type { OriginalFile, OriginalNotKept } from './reading/original.ts'
import type { CommandEnvelope, WriteResult } from './writing/encode.ts'
import type { EraseError, EraseOptions, ErasedContent } from './writing/erase.ts'
import { lastPosition } from './reading/ends.ts'
import type { Handler } from './writing/handle.ts'
import { unwrap, type Fallible } from '../result/fallible.ts'
import type { ForkError, ReadError, StoreError } from '../store/errors.ts'
import type { Changes } from './reading/changes.ts'
import type { CoveringHold } from './beside/hold-finder.ts'
import type { Inbox } from './beside/inbox.ts'
import type { Link } from '../projections/notes.ts'
import { createErasureWatch } from './reading/inherited-erasures.ts'
import { later } from './reading/later.ts'
import { type Own, rootLineage } from './reading/lineage.ts'
import type { TurnClaimant } from './beside/party.ts'
import type { TurnLog } from './beside/turn-log.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { EventStore } from '../store/port.ts'
import { objectOf } from './writing/envelope.ts'
import { type EventFollower, createEventFollower } from './reading/event-follower.ts'
import { type NoteStore, type NoteKeeper, createNoteKeeper } from './beside/note-keeper.ts'
import { readOwnLinks } from './beside/note-reader.ts'
import type { PositionOption, ConversationReader } from './reading/conversation-reader.ts'
import { type CommandPreviewer, createPreviewer } from './writing/previewer.ts'
import { type OwnReading, createReader } from './reading/create-reader.ts'
import { type InternalWriter, splitInput, type ConversationWriter, createWriter } from './writing/writer.ts'

/**
 * One conversation of a store. It need not exist yet: the first append creates it.
 *
 * Positions are 0-based; -1 is before the first event. Every method fails with `InvalidInput` for an invalid argument, including an
 * unknown option, and with a `StoreError` if the store fails; other errors are listed with each method. Writers also fail with
 * `StaleContext` if `after` is given and is not the last position, and with `EventTooLarge`. After an error nothing has been written.
 * Repeating a write under the same `commandId` writes nothing and returns the first result.
 */
export interface ConversationOf<W extends ResultStyle, Forked>
  extends ConversationWriter<W>, CommandPreviewer<W>, ConversationReader<W>, EventFollower, NoteKeeper<W> {
  /** Id of the conversation: 1 to 200 characters of `A–Z a–z 0–9 . _ : -`, but not `.` or `..`. */
  readonly id: string
  /**
   * Creates a conversation that begins with this one's history up to and including `at` (default: all of it). No events are copied.
   * Errors: `ConversationExists`, `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const second = await chat.fork('task-42-second-try', { at: 3 })
   * await second.append({ role: 'user', content: 'Look at line 60 first.' })
   */
  readonly fork: (
    id: string,
    options?: PositionOption & CommandEnvelope,
  ) => MethodResult<W, ForkError, Forked>
}

/** A conversation whose methods return TaskEithers. */
export interface ConversationHandle
  extends ConversationOf<'task', ConversationHandle>, Pick<OwnReading, 'begun'>, InternalWriter {
  readonly methods: ConversationOf<'task', ConversationHandle>
  /** The log of the conversation's turns, in a separate stream. */
  readonly turnLog: TurnLog
  /** Queue for the messages that the user sends while the model is busy. */
  readonly inbox: Inbox
  readonly changes: Changes
  /** Reads the events currently recorded after an existing position, in order. */
  readonly later: (position: number) => Fallible<ReadError, readonly ConversationEvent[]>
  /** Names the last erasures in the conversations from which a fork has events, as in `createErasureWatch`. */
  readonly inheritedErasures: () => Fallible<ReadError, string>
  /**
   * Returns the position of the event at a revision of the conversation's own stream; undefined until this handle has read the lineage.
   */
  readonly positionOf: (revision: number) => number | undefined
  /** Tells the handle that the conversation exists and is not a fork, so its lineage need not be read. */
  readonly isNoFork: () => void
  /** The program or worker that runs turns through this handle. */
  readonly party: TurnClaimant
  /** Finds the legal hold that covers the conversation, if any. */
  readonly holder: () => Fallible<StoreError, CoveringHold | undefined>
  /** Returns the conversations of its subagents, and of theirs; with a time, those that have content from before it. */
  readonly subagents: (before?: Date) => Fallible<StoreError, readonly string[]>
  /** Reads the conversation's links, without those to it from other conversations. */
  readonly ownLinks: () => Fallible<ReadError, readonly Link[]>
  /** Finds the file from which the conversation was imported. */
  readonly original: () => Fallible<StoreError | InvalidInput | OriginalNotKept, OriginalFile>
  /** Erases content, without looking for its repetitions: of this conversation, or of one of its subagents. */
  readonly erase: (options: EraseOptions, subagent?: string) => Fallible<EraseError, ErasedContent>
}

/** Access to the streams that accompany conversations, such as notes, turn logs and inboxes. */
export interface SideStreams {
  readonly notes: NoteStore
  readonly turnLog: (conversation: string) => TurnLog
  readonly inbox: (conversation: string) => Inbox
  readonly changes: (conversation: string) => Changes
  readonly party: TurnClaimant
  readonly holder: (conversation: string) => Fallible<StoreError, CoveringHold | undefined>
  readonly subagents: (conversation: string, before?: Date) => Fallible<StoreError, readonly string[]>
  readonly erase: (conversation: string, options: EraseOptions) => Fallible<EraseError, ErasedContent>
}

/** Returns a handle for one conversation. If the id is invalid, each of its methods fails with `InvalidInput`. */
export const conversation = (
  store: EventStore,
  handler: Handler,
  beside: SideStreams,
  id: string,
): ConversationHandle => {
  const checkedId = isConversationId(id) ? E.right(id) : refusedId(id)
  // An invalid id may not even be a string, so its side streams belong to no conversation.
  const name = E.isRight(checkedId) ? id : ''
  const inheritedErasures = createErasureWatch(store)
  const own: Own = { saw: (...read) => handler.saw(name, ...read) }
  const { record, ...writer } = createWriter(handler, id, checkedId)
  const { begun, ...reader } = createReader(store, id, checkedId, own)
  const methods: ConversationOf<'task', ConversationHandle> = {
    id,
    ...writer,
    fork: (target, options = {}) =>
      pipe(
        checkedId,
        E.flatMap(() => objectOf(options, '{ at: 4 }')),
        E.flatMap((given) => splitInput('fork', { ...given, id: target })),
        TE.fromEither,
        TE.flatMap(
          ({ command, envelope }): TE.TaskEither<ForkError, WriteResult> =>
            () =>
              handler.fork(id, command, envelope),
        ),
        TE.map(() => conversation(store, handler, beside, target)),
      ),
    ...createPreviewer(store, id, checkedId),
    ...reader,
    ...createEventFollower(store, id, checkedId, own),
    ...createNoteKeeper(store, beside.notes, id, checkedId),
  }
  return {
    ...methods,
    methods,
    record,
    begun,
    turnLog: beside.turnLog(name),
    inbox: beside.inbox(name),
    changes: beside.changes(name),
    later: (position) => later(store, name, own, position),
    inheritedErasures: () => inheritedErasures(own.lineage ?? []),
    positionOf: (revision) => own.lineage && lastPosition({ lineage: own.lineage, revision }),
    isNoFork: () => {
      own.lineage ??= rootLineage(name)
    },
    party: beside.party,
    holder: () => beside.holder(name),
    subagents: (before) => beside.subagents(name, before),
    ownLinks: () => readOwnLinks(store, name),
    original: async function* (): Fallible<StoreError | InvalidInput | OriginalNotKept, OriginalFile> {
      const { findOriginal } = await import('./reading/original.ts')
      return yield* findOriginal(store, yield* unwrap(checkedId))
    },
    erase: async function* (options, subagent = name): Fallible<EraseError, ErasedContent> {
      yield* unwrap(checkedId)
      return yield* beside.erase(subagent, options)
    },
  }
}

const refusedId = (id: unknown): E.Either<InvalidInput, string> =>
  typeof id === 'string'
    ? check(conversationIdSchema, id)
    : E.left(invalidInput('id', 'must be a string: the id of a conversation'))
