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

/** One conversation of a store. It need not be there yet: the first append creates it. */
export interface Conversation extends Noting {
  readonly id: string
  /** Appends a message, or several of which all are written or none. */
  readonly append: (
    message: MessageInput | readonly MessageInput[],
    options?: AppendOptions,
  ) => Write<AppendError, Written>
  /** Records what requests hold besides messages. What is left out stays; null takes it away. */
  readonly configure: (input: ConfigureInput) => Write<ConfigureError, Written>
  /** Shows a slice of the effective history as a summary from now on. */
  readonly condense: (input: CondenseInput) => Write<HideError, Written>
  /** Shows a slice of the effective history no longer. */
  readonly truncate: (input: TruncateInput) => Write<HideError, Written>
  /** Shows again, in its place, what a marker hid; later messages stay. */
  readonly restore: (input: RestoreInput) => Write<RestoreError, Written>
  /** Makes the conversation what it was at an earlier moment. Nothing is lost: a rewind can be undone. */
  readonly rewind: (input: RewindInput) => Write<RewindError, Written>
  /** Takes back the last event, if it is a rewind, condense, truncate or restore. */
  readonly undo: (input?: UndoInput) => Write<UndoError, Written>
  /** A new conversation that begins with this one's history. Copies nothing. */
  readonly fork: (id: string, options?: At & Envelope) => Write<ForkError, Conversation>
  /** The last position. */
  readonly position: () => Read<number>
  /** What the model sees. Reads what it shows, however long the log is. */
  readonly effective: (options?: At) => Read<readonly Item[]>
  /** The same with all that a request is made of: what `render`, `countTokens` and `manageContext` take. */
  readonly view: (options?: At) => Read<Effective>
  /**
   * Every message and marker, each with what became of it. With `last` it reads those entries and what comes after them, not the whole
   * conversation.
   */
  readonly full: FullReader
  /** What the model sees, as a request that the Messages API accepts. */
  readonly render: (options?: At & RenderOptions) => Read<Rendered>
  /** How what the model sees at `to` (default: now) differs from what it saw at `from`. */
  readonly diff: (options: DiffOptions) => Read<Diff>
  /** Every event with its place in the tree of branches. */
  readonly timeline: (options?: At) => Read<readonly TimelineEntry[]>
  /** The events as recorded. Iteration throws a `ReadError`. */
  readonly events: (options?: EventsOptions) => AsyncIterable<ConversationEvent>
  /**
   * The events to the byte, for an export that another store can take in: this conversation's own, and before them those of the
   * conversations that it was forked from. Iteration throws a `ReadError`.
   */
  readonly stored: () => AsyncIterable<PlacedEvent>
  /**
   * Recomputes the hash chain and every view, and looks at the database's file as a whole. A difference in the conversation is an
   * answer; a damaged file is the error `StoreCorrupt`, as nobody knows then what a read leaves out.
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
    view: (options) => look(options, atFields, ({ at }) => loaded(at, true)),
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
