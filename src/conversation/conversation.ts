import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { type Command, type CommandType, commandSchemas } from '../commands/command.ts'
import { areAccepted } from '../commands/append.ts'
import type { Rejection } from '../commands/rejections.ts'
import { check, checkJson } from '../events/check.ts'
import { decode } from '../events/codec.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type ConversationEvent, START } from '../events/events.ts'
import { conversationIdSchema, isConversationId, streamOf } from '../events/ids.ts'
import { copyJson, type Json } from '../events/json.ts'
import { type Diff, diffing } from '../projections/diff.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { type Entry, fulling, type FullOptions } from '../projections/full.ts'
import { type NoteEntry, woven } from '../projections/notes.ts'
import type { Log } from '../projections/path.ts'
import { type Rendered, rendering, type RenderOptions } from '../projections/render/renderer.ts'
import { type TimelineEntry, timing } from '../projections/timeline.ts'
import {
  type AppendError,
  type ConfigureError,
  type ForkError,
  type HideError,
  type ReadError,
  type RestoreError,
  type RewindError,
  type StoreError,
  toError,
  type UndoError,
} from '../store/errors.ts'
import { inBreaths } from '../store/breath.ts'
import type { Handler } from '../history/handle.ts'
import { loadEffective } from '../history/load.ts'
import { readNoteEntries } from '../history/note-reader.ts'
import { loadNewest } from '../history/newest.ts'
import { loadLog, openAt, openShown, outsideOf } from '../history/log.ts'
import type { EventStore } from '../store/port.ts'
import { pages, recordedAt } from '../history/reader.ts'
import { task } from '../result/steps.ts'
import { checkedOptions, type Fields, kinds, oneOf } from '../store/options.ts'
import { type PlacedEvent, storedEvents } from '../history/stored.ts'
import { type Verified, verify } from '../jobs/verify.ts'
import { objectOf, splitEnvelope } from './envelope.ts'
import { type NoteStore, type Noting, noting } from './noting.ts'
import type { Envelope, Written } from '../history/encode.ts'
import type {
  AppendOptions,
  CondenseInput,
  ConfigureInput,
  MessageInput,
  RestoreInput,
  RewindInput,
  TruncateInput,
  UndoInput,
} from './inputs.ts'

/** A moment to look from: a position, -1 for before the first event; the last position by default. */
export interface At {
  readonly at?: number
}

export interface EventsOptions {
  /** First position, that one included. Default 0. */
  readonly from?: number
  /** Last position, that one included. Default: the last there is. */
  readonly to?: number
  /** Go on with what is appended, until the signal aborts or the store closes. Default false. */
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

type Write<E, A> = TE.TaskEither<E, A>
type Read<A> = TE.TaskEither<ReadError, A>

/**
 * One conversation of a store. It need not be there yet: the first append creates it.
 *
 * Positions are 0-based; -1 is before the first event. Every method fails with `InvalidInput` for an argument that it does not take, an
 * unknown option included, and with a `StoreError` where the store cannot do its part; the other errors are named with each. Writers also
 * fail with `StaleContext` where `after` is given and is not the last position, and with `EventTooLarge`. After an error nothing was
 * written. A writer that is repeated under the same `commandId` writes nothing and answers as the first time.
 */
export interface Conversation extends Noting {
  /** 1 to 200 characters of `A–Z a–z 0–9 . _ : -`. */
  readonly id: string
  /**
   * Appends a message, or several, in order, of which all are written or none. Appends that are not waited for are written in the order
   * in which they were asked for. Errors: with `branchAt` and `rewindTo`, `OutOfRange` and `ConversationNotFound`.
   *
   * @example
   * const { position } = await chat.append({ role: 'assistant', content: 'Nothing else is open.' })
   * await chat.append({ role: 'user', content: 'Then close line 80.' }, { after: position })
   */
  readonly append: (
    message: MessageInput | readonly MessageInput[],
    options?: AppendOptions,
  ) => Write<AppendError, Written>
  /**
   * Records what requests hold besides messages, from here on. What is left out stays as it is; null removes it. What changes nothing
   * writes nothing.
   *
   * @example
   * await chat.configure({ system: 'Answer in one sentence.', model: 'claude-opus-5-5', tools: null })
   */
  readonly configure: (input: ConfigureInput) => Write<ConfigureError, Written>
  /**
   * Shows a slice of the effective history as a summary from now on; nothing is deleted. By default all but the first message and the
   * last three. Errors: `NothingToHide`; of `covers`, `NotShown` and `UnsafeCut`; `ConversationNotFound`.
   *
   * @example
   * await chat.condense({ summary: 'Three strings were not closed.', keepLast: 1 })
   */
  readonly condense: (input: CondenseInput) => Write<HideError, Written>
  /**
   * Shows a slice of the effective history no longer; nothing is deleted. Which slice, and errors: as `condense`.
   *
   * @example
   * await chat.truncate({ fraction: 0.5, reason: 'the first strings are closed' })
   */
  readonly truncate: (input: TruncateInput) => Write<HideError, Written>
  /**
   * Shows again, in its place, what a marker hid; later messages stay. Errors: `NotShown` where no such marker is shown (one that is
   * hidden itself is restored from the outside in), `ConversationNotFound`.
   *
   * @example
   * const { position: marker } = await chat.truncate({ covers: { first: 1, last: 2 } })
   * await chat.restore({ marker })
   */
  readonly restore: (input: RestoreInput) => Write<RestoreError, Written>
  /**
   * Makes the conversation what it was at an earlier moment. Nothing is lost: a rewind can be undone, and any position can be gone to,
   * also one on an abandoned branch. Errors: `OutOfRange`, `NothingToRewind`, `ConversationNotFound`.
   *
   * @example
   * await chat.rewind({ turns: 1, reason: 'asked too early' })
   */
  readonly rewind: (input: RewindInput) => Write<RewindError, Written>
  /**
   * Takes back the last event, if it is a rewind, condense, truncate or restore. An undo is a rewind: undone, it is a redo. Errors:
   * `NothingToUndo`, `ConversationNotFound`.
   *
   * @example
   * await chat.rewind({ to: 3 })
   * await chat.undo()
   */
  readonly undo: (input?: UndoInput) => Write<UndoError, Written>
  /**
   * A new conversation that begins with this one's history up to `at` (default: all of it). Copies nothing. Errors: `ConversationExists`,
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const second = await chat.fork('task-42-second-try', { at: 3 })
   * await second.append({ role: 'user', content: 'Look at line 60 first.' })
   */
  readonly fork: (id: string, options?: At & Envelope) => Write<ForkError, Conversation>
  /**
   * The last position. Errors: `ConversationNotFound`.
   *
   * @example
   * const after = await chat.position()
   */
  readonly position: () => Read<number>
  /**
   * The effective history: the messages, summaries and truncations that the model sees, in the order in which it sees them. Reads what
   * it shows, however long the log is. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * for (const item of await chat.effective({ at: 3 })) console.log(item.position, item.kind)
   */
  readonly effective: (options?: At) => Read<readonly Item[]>
  /**
   * The context: the effective history with all else that a request is made of. What `render`, `countTokens` and `manageContext` of
   * `palimpsest/core` and `palimpsest/fp` take. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { at, items, outline } = await chat.context()
   * console.log(at, items.length, outline.configuration?.model)
   */
  readonly context: (options?: At) => Read<Effective>
  /**
   * Every message and marker of the path, by position, each with what became of it; with `abandoned` (default false) also those of
   * abandoned branches, and with `notes` (default false) what was noted. With `last` it reads
   * those newest entries and what comes after them, else the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const entries = await chat.full({ abandoned: true })
   * console.log(entries.filter(({ status }) => status !== 'active').length, 'are not shown')
   */
  readonly full: FullReader
  /**
   * What the model sees, as a request that the Messages API accepts, with each departure from what is stored in `repairs`. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { system, messages, awaits, repairs } = await chat.render({ cache: '1h' })
   */
  readonly render: (options?: At & RenderOptions) => Read<Rendered>
  /**
   * How what the model sees at `to` (default: the last position) differs from what it saw at `from`; either may be the later one.
   * Reads the whole log. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { changes } = await chat.diff({ from: 3 })
   */
  readonly diff: (options: DiffOptions) => Read<Diff>
  /**
   * Every event through `at`, by position, each with its place in the tree of branches. Reads the whole log. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * for (const { event, branch, onPath } of await chat.timeline()) console.log(event.position, branch, onPath)
   */
  readonly timeline: (options?: At) => Read<readonly TimelineEntry[]>
  /**
   * The events as recorded, by position, `from` and `to` both included; with `follow` also those that come. Iteration throws a
   * `ReadError`.
   *
   * @example
   * for await (const { position, type, metadata } of chat.events({ from: 2 })) console.log(position, type, metadata.time)
   */
  readonly events: (options?: EventsOptions) => AsyncIterable<ConversationEvent>
  /**
   * The events to the byte, for an export that another store can take in: this conversation's own, and before them those of the
   * conversations that it was forked from. Iteration throws a `ReadError`.
   *
   * @example
   * for await (const { revision, type, data } of chat.stored()) console.log(revision, type, data.length)
   */
  readonly stored: () => AsyncIterable<PlacedEvent>
  /**
   * Recomputes the hash chain and every view, and looks at the database's file as a whole. A difference in the conversation is an
   * answer; a damaged file is the error `StoreCorrupt`, as nobody knows then what a read leaves out. Errors: `ConversationNotFound`.
   *
   * @example
   * const { events, discrepancy } = await chat.verify()
   * console.log(discrepancy ?? `${events} events are as they were written`)
   */
  readonly verify: (options?: VerifyOptions) => Read<Verified>
}

/** Whether the full history is to have the notes and links too. */
export type FullWithNotes = FullOptions & { readonly notes?: boolean }
export type Entries = readonly (Entry | NoteEntry)[]
/** Reads the full history; `notes`: with the notes and links, each after what has the position at which it was noted, or a lower one. */
interface FullReader {
  (options: FullWithNotes & { readonly notes: true }): Read<Entries>
  (options?: FullOptions): Read<readonly Entry[]>
}

type NewestOptions = FullOptions & { readonly last: number }

/** Two positions to compare. */
interface DiffOptions {
  readonly from: number
  readonly to?: number
}

export interface VerifyOptions {
  /** Also look at the file, all of it, as `check` of the store does. Default true; false spares that where many are verified. */
  readonly file?: boolean
}

/** Divides a writer's options into the command and who sends it, each checked. */
const split = <T extends CommandType>(
  type: T,
  options: Envelope & Record<string, unknown>,
): E.Either<InvalidInput, { readonly command: Command<T>; readonly envelope: Envelope }> =>
  pipe(
    splitEnvelope(options),
    E.flatMap(({ envelope, input }) =>
      pipe(
        checkJson(commandSchemas[type], input),
        E.map((command) => ({ command: { type, ...(command as object) } as Command<T>, envelope })),
      ),
    ),
  )

const atFields = { at: kinds.position }
const fullFields = {
  ...atFields,
  abandoned: kinds.flag,
  last: kinds.several,
  before: kinds.position,
  notes: kinds.flag,
}
/** The notes among the entries that were asked for; those before the first one are not, if there are earlier entries. */
const notesAmong = (
  notes: readonly NoteEntry[],
  entries: readonly Entry[],
  { last = Infinity, before = Infinity }: FullOptions,
): readonly NoteEntry[] => {
  const first = entries.length < last ? START : (entries[0]?.position ?? START)
  return notes.filter(({ position }) => position >= first && position < before)
}
const renderFields = {
  ...atFields,
  systemMessages: kinds.flag,
  prefill: kinds.flag,
  truncationNotes: kinds.flag,
  cache: oneOf(['5m', '1h']),
}
const diffFields = { from: kinds.position, to: kinds.position }
const eventsFields = { from: kinds.first, to: kinds.last, follow: kinds.flag, signal: kinds.signal }

/** The messages as they are now, whatever the caller does with them from here on. */
const snapshotOf = (messages: readonly unknown[]): E.Either<InvalidInput, Json> =>
  pipe(
    copyJson(messages),
    E.mapLeft(({ path, problem }) => invalidInput(`messages${path}`, problem)),
  )

/** The handle of one conversation. An id that cannot be is an `InvalidInput` of each of its methods. */
export const conversation = (
  store: EventStore,
  handler: Handler,
  notes: NoteStore,
  id: string,
): Conversation => {
  const checkedId = isConversationId(id) ? E.right(id) : check(conversationIdSchema, id)

  /** What was asked for is checked at once: commands come to the handler in the order in which they were given. */
  const run =
    <T extends Exclude<CommandType, 'fork'>>(
      type: T,
      input: unknown,
    ): Write<StoreError | Rejection<T>, Written> =>
    () => {
      const given = pipe(
        checkedId,
        E.flatMap(() => objectOf(input)),
        E.flatMap((options) => split(type, options)),
      )
      return E.isLeft(given)
        ? Promise.resolve(given)
        : handler.handle(id, given.right.command, given.right.envelope)
    }

  const look = <O extends object, A>(
    options: O | undefined,
    fields: Fields<O>,
    read: (options: Partial<O>) => Read<A>,
  ): Read<A> => pipe(TE.fromEither<ReadError, Partial<O>>(checkedOptions(options, fields)), TE.flatMap(read))

  const loaded = (at: number | undefined, withConfiguration: boolean): Read<Effective> =>
    pipe(
      TE.fromEither<ReadError, string>(checkedId),
      TE.flatMap(() => () => openShown(store, id, at)),
      TE.flatMap(
        ({ reading, at: position }): Read<Effective> =>
          async () =>
            E.map(({ effective }: { readonly effective: Effective }) => effective)(
              await loadEffective(reading, position, withConfiguration),
            ),
      ),
    )

  const newestEntries = ({
    at,
    last,
    before = Infinity,
    abandoned = false,
  }: NewestOptions): Read<readonly Entry[]> =>
    pipe(
      TE.fromEither<ReadError, string>(checkedId),
      TE.flatMap(() => () => openShown(store, id, at)),
      TE.flatMap(
        ({ reading, at: position }): Read<readonly Entry[]> =>
          () =>
            loadNewest(reading, { at: position, last, before, abandoned }),
      ),
    )

  const opened = (at?: number) =>
    pipe(
      TE.fromEither<ReadError, string>(checkedId),
      TE.flatMap(() => () => openAt(store, id, at)),
    )

  /** A projection of the log through the last of the positions given. */
  const projected = <A>(
    positions: readonly (number | undefined)[],
    project: (log: Log, at: number) => Iterator<void, A>,
  ): Read<A> =>
    pipe(
      opened(),
      TE.flatMap(({ reading, last }): Read<A> => async () => {
        for (const position of positions) {
          const outside = outsideOf(id, position, last)
          if (outside) return E.left(outside)
        }
        const until = Math.max(...positions.map((position) => position ?? last))
        const log = await loadLog(reading, until)
        return E.isLeft(log) ? log : E.right(await inBreaths(project(log.right, last)))
      }),
    )

  async function* events(options?: EventsOptions): AsyncGenerator<ConversationEvent, void> {
    const given = checkedOptions(options, eventsFields)
    if (E.isLeft(given)) throw toError(given.left)
    const { from = 0, to = Infinity, follow = false, signal } = given.right
    const source = await opened()()
    if (E.isLeft(source)) throw toError(source.left)
    const { reading, lineage, last } = source.right
    for await (const page of pages(reading, from, Math.min(to, last)))
      for (const event of page) {
        if (signal?.aborted) return
        yield event
      }
    if (!follow || to <= last || signal?.aborted) return
    const newest = await recordedAt(store, lineage, last)
    if (E.isLeft(newest)) throw toError(newest.left)
    const after = newest.right?.checkpoint
    const stream = streamOf(id)
    for await (const followed of store.follow({
      prefixes: [stream],
      ...(after !== undefined && { after }),
      ...(signal && { signal }),
    })) {
      if (followed.type !== 'event' || followed.event.stream !== stream) continue
      const { revision } = followed.event
      const position = last + revision - (newest.right?.revision ?? 0)
      const decoded = decode(followed.event, { stream, revision, position })
      if (E.isLeft(decoded)) throw toError(decoded.left)
      // What an import brought counts from a later place on than where it stands.
      if (position >= from && position > last) yield decoded.right
      if (position >= to) return
    }
  }

  return {
    id,
    append: (message, options) => () => {
      const messages = snapshotOf(Array.isArray(message) ? message : [message])
      if (E.isLeft(messages)) return Promise.resolve(messages)
      if (options === undefined && E.isRight(checkedId) && areAccepted(messages.right))
        return handler.handle(id, { type: 'append', messages: messages.right }, {})
      const given = objectOf(options ?? {})
      return E.isLeft(given)
        ? Promise.resolve(given)
        : run('append', { ...given.right, messages: messages.right })()
    },
    configure: (input) => run('configure', input),
    condense: (input) => run('condense', input),
    truncate: (input) => run('truncate', input),
    restore: (input) => run('restore', input),
    rewind: (input) => run('rewind', input),
    undo: (input = {}) => run('undo', input),
    fork: (target, options = {}) =>
      pipe(
        checkedId,
        E.flatMap(() => objectOf(options)),
        E.flatMap((given) => split('fork', { ...given, id: target })),
        TE.fromEither,
        TE.flatMap(
          ({ command, envelope }): Write<ForkError, Written> =>
            () =>
              handler.fork(id, command, envelope),
        ),
        TE.map(() => conversation(store, handler, notes, target)),
      ),
    position: () =>
      pipe(
        opened(),
        TE.map(({ last }) => last),
      ),
    effective: (options) =>
      pipe(
        look(options, atFields, ({ at }) => loaded(at, false)),
        TE.map(({ items }) => items),
      ),
    context: (options) => look(options, atFields, ({ at }) => loaded(at, true)),
    full: ((options) =>
      look<FullWithNotes, Entries>(options, fullFields, ({ notes: withNotes = false, ...given }) =>
        pipe(
          given.last === undefined
            ? projected<readonly Entry[]>([given.at], (log) => fulling(log, given))
            : newestEntries({ ...given, last: given.last }),
          TE.flatMap((entries): Read<Entries> =>
            withNotes
              ? TE.map((found: readonly NoteEntry[]) => woven(entries, notesAmong(found, entries, given)))(
                  task(() => readNoteEntries(store, id, given.at)),
                )
              : TE.right(entries),
          ),
        ),
      )) as FullReader,
    render: (options) =>
      look(options, renderFields, ({ at, ...given }) =>
        pipe(
          loaded(at, true),
          TE.flatMap(
            (effective): Read<Rendered> =>
              async () =>
                E.right(await inBreaths(rendering(effective, given))),
          ),
        ),
      ),
    diff: (options) =>
      look<DiffOptions, Diff>(options, diffFields, ({ from, to }) =>
        from === undefined
          ? TE.left(invalidInput('from', 'name the position to compare from'))
          : projected([from, to], (log, last) => diffing(log, from, to ?? last)),
      ),
    timeline: (options) => look(options, atFields, ({ at }) => projected([at], (log) => timing(log))),
    events,
    ...noting(store, notes, id, checkedId),
    stored: async function* () {
      if (E.isLeft(checkedId)) throw toError(checkedId.left)
      yield* storedEvents(store, id)
    },
    verify: (options) =>
      look(options, { file: kinds.flag }, ({ file = true }) =>
        pipe(
          TE.fromEither<ReadError, string>(checkedId),
          TE.flatMap(() => task(() => verify(store, id))),
          TE.flatMap((verified) =>
            verified.discrepancy || !file || !store.integrity
              ? TE.right(verified)
              : TE.map(() => verified)(store.integrity()),
          ),
        ),
      ),
  }
}
