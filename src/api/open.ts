import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { run, task } from '../result/steps.ts'
import { checkJson } from '../events/check.ts'
import { decode } from '../events/codec.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type Actor, type ConversationEvent, metadataSchema } from '../events/events.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import { backupOf, type BackupError } from '../jobs/backup.ts'
import { collect, type Collected, type GcOptions } from '../jobs/gc.ts'
import { type LargeContentStore, withLargeContent } from '../store/blobs/large-content.ts'
import { breath, pacer } from '../store/breath.ts'
import { conversation, type Conversation } from '../conversation/conversation.ts'
import { noteStore } from '../conversation/noting.ts'
import { remembered } from '../store/lru.ts'
import type { ImportError } from '../formats/errors.ts'
import type { SessionFile } from '../formats/parse-session.ts'
import { toError } from '../result/typed.ts'
import type { StoreError, WriteError } from '../store/errors.ts'
import type { Imported, ImportOptions } from '../jobs/import.ts'
import type { SessionStream } from '../jobs/read-session.ts'
import { handler } from '../history/handle.ts'
import { loadLineage } from '../history/lineage.ts'
import { asNow, checkedOptions, kinds, unknownOption } from '../store/options.ts'
import { type ListOptions, type Overview, overviewer } from '../jobs/overview.ts'
import {
  type BackedUp,
  type BackupOptions,
  type Checkpoint,
  type EventStore,
  type FollowOptions,
  streamPage,
  type RecordedEvent,
} from '../store/port.ts'
import { ownStore } from '../store/own-store.ts'
import { type Creation, type OpenError, openAdapter } from './schemes.ts'
import { withWholeWrites } from '../store/whole/whole-writes.ts'

export interface StoreOptions {
  /** Recorded with every event, unless its writer names another. Default `{ kind: 'program' }`. */
  readonly actor?: Actor
  /**
   * Create the store if it does not exist. Default true; with false, opening fails with `StoreNotFound`; `'late'` creates it when
   * something is written, so that an earlier failure leaves nothing.
   */
  readonly create?: Creation
  /**
   * Strings in events that have more bytes than this are stored once, outside the events. Default 65,536; at least 1,024. It only affects
   * writing: conversations read, hash and export the same with every value.
   */
  readonly largeContent?: number
}

/** An event with its conversation and its place in the store's global order. */
export interface StreamedEvent {
  readonly conversation: string
  readonly event: ConversationEvent
  /** Pass it as `after` to continue after this event. */
  readonly checkpoint: Checkpoint
}

export interface ReadAllOptions {
  readonly after?: Checkpoint
}
export interface FollowConversations extends ReadAllOptions {
  /** Only conversations whose id begins with one of these. Default: all. */
  readonly prefixes?: readonly string[]
  readonly signal?: AbortSignal
}
/** What a follower gets: an event, or how far the store has been read without finding one. */
export type FollowedEvent =
  | ({ readonly type: 'event' } & StreamedEvent)
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** An open store. */
export interface Store {
  /** The URL it was opened with, without credentials. */
  readonly url: string
  /**
   * The handle of a conversation, whether it exists yet or not. Reads nothing; with an invalid id, each method fails with `InvalidInput`.
   *
   * @example
   * await store.conversation('task-44').append({ role: 'user', content: 'Hello.' })
   */
  readonly conversation: (id: string) => Conversation
  /**
   * All conversations, newest first; `problem` says why one cannot be read. Iteration throws a `StoreError`, or `InvalidInput`.
   *
   * @example
   * for await (const { id, title, events } of store.conversations({ beginning: 'task-' })) console.log(id, title, events)
   */
  readonly conversations: (options?: ListOptions) => AsyncIterable<Overview>
  /**
   * Imports a session file, given as a text or, at any size, as its bytes, in every format of `Format`, recognised by content. It is
   * imported whole or not at all; importing the same file twice adds nothing. Errors: an `ImportError`, such as `UnknownFormat` or
   * `BadLine`, or a `WriteError`.
   *
   * @example
   * const text = JSON.stringify([{ role: 'user', content: 'Hello.' }])
   * const { conversations } = await store.importSession({ text, file: 'session.json', id: 'imported' })
   */
  readonly importSession: (
    session: SessionFile | SessionStream,
    options?: ImportOptions,
  ) => TE.TaskEither<ImportError | WriteError, Imported>
  /**
   * All present events in global order, except those of conversations that have lost some (`conversations` names them). Iteration throws
   * a `ReadError`.
   *
   * @example
   * for await (const { conversation, event } of store.readAll()) console.log(conversation, event.position, event.type)
   */
  readonly readAll: (options?: ReadAllOptions) => AsyncIterable<StreamedEvent>
  /**
   * All events in global order, or those after a checkpoint, then new ones as they come, until the signal aborts or the store closes.
   * Iteration throws a `ReadError`.
   *
   * @example
   * for await (const followed of store.follow({ prefixes: ['task-'], signal: AbortSignal.timeout(100) }))
   *   if (followed.type === 'event') console.log(followed.conversation, followed.event.type)
   */
  readonly follow: (options?: FollowConversations) => AsyncIterable<FollowedEvent>
  /**
   * Checks the whole database file for damaged pages and for indexes that do not match their tables. Errors: `StoreCorrupt` says what is
   * damaged. Stores that are not a file have nothing to check.
   *
   * @example
   * await store.check()
   */
  readonly check: () => TE.TaskEither<StoreError, void>
  /**
   * Writes everything that is committed now, large content included, into another file; others can keep writing. When the file appears
   * under its name, it is complete, checked, on disk and private to its owner; it opens as `sqlite:FILE`. SQLite stores only. Errors:
   * `FileExists` (overwrite with `force`), `InvalidInput`, `StoreCorrupt` if the store is damaged.
   *
   * @example
   * await store.backup('monday.db', { force: true })
   */
  readonly backup: (file: string, options?: BackupOptions) => TE.TaskEither<BackupError, BackedUp>
  /**
   * Removes large content that no event refers to, left over from interrupted appends. Errors: `InvalidInput` for an `olderThan` in the
   * future.
   *
   * @example
   * const { unreferenced } = await store.gc({ dryRun: true })
   */
  readonly gc: (options?: GcOptions) => TE.TaskEither<StoreError | InvalidInput, Collected>
  /**
   * Waits for appends in progress, then closes. Later calls fail with `StoreClosed`.
   *
   * @example
   * await store.close()
   */
  readonly close: () => TE.TaskEither<StoreError, void>
}

/**
 * Opens a store by its URL: `memory:`, `sqlite:path/to/file.db` (created if missing), `esdb://host:2113` (docs/eventstoredb.md),
 * or a URL of a registered scheme (`registerStore`). SQLite parameters: `?synchronous=full|normal|off` (default full: an append
 * that returned survives a power cut), `&timeout=5000` (how long to wait for another process's lock, in milliseconds).
 *
 * An `EventStore` that is already open may be given in place of a URL; closing this closes it.
 */
export const openStore = (
  source: string | EventStore,
  options: StoreOptions = {},
): TE.TaskEither<OpenError, Store> =>
  pipe(
    openOptions(options),
    TE.fromEither<OpenError, StoreOptions>,
    TE.flatMap(({ create = true, actor, largeContent }) =>
      pipe(
        openSource(source, create),
        TE.map((events) => storeOn(events, actor ?? { kind: 'program' }, largeContent)),
      ),
    ),
  )

const defaultLargeContent = 65_536
const leastLargeContent = 1_024
const isLargeContent = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= leastLargeContent

const isCreate = (value: unknown): value is Creation => typeof value === 'boolean' || value === 'late'

const openOptions = (options: unknown): E.Either<InvalidInput, StoreOptions> => {
  if (typeof options !== 'object' || options === null)
    return E.left(invalidInput('options', 'must be an object, like { create: false }'))
  const { actor, create, largeContent }: Readonly<Record<string, unknown>> = { ...options }
  const unknown = unknownOption(options, ['actor', 'create', 'largeContent'])
  if (unknown) return E.left(unknown)
  if (create !== undefined && !isCreate(create))
    return E.left(invalidInput('create', "is true, false or 'late'"))
  if (largeContent !== undefined && !isLargeContent(largeContent))
    return E.left(invalidInput('largeContent', `is a whole number of bytes, at least ${leastLargeContent}`))
  const rest = {
    ...(create !== undefined && { create }),
    ...(largeContent !== undefined && { largeContent }),
  }
  return actor === undefined
    ? E.right(rest)
    : pipe(
        checkJson(metadataSchema.pick({ actor: true }), { actor }),
        E.map((checked) => ({ ...rest, ...checked })),
      )
}

const openSource = (source: string | EventStore, create: Creation): TE.TaskEither<OpenError, EventStore> =>
  pipe(
    typeof source === 'string' ? openAdapter(source, create) : TE.right(source),
    TE.flatMapEither(ownStore),
  )

/** Opens a store of events, large content included. */
export const openEvents = (
  source: string | EventStore,
  create: Creation = true,
): TE.TaskEither<OpenError, EventStore> =>
  pipe(
    openSource(source, create),
    TE.map((events) => layered(events, defaultLargeContent)),
  )

/** What every store adds to its adapter. */
const layered = (adapter: EventStore, largeContent: number): LargeContentStore =>
  withWholeWrites(withLargeContent(adapter, largeContent))

/**
 * The conversations in an event store of any kind.
 *
 * @param largeContent as in `StoreOptions`
 */
export const storeOn = (
  adapter: EventStore,
  actor: Actor,
  largeContent: number = defaultLargeContent,
): Store => {
  const events = layered(adapter, largeContent)
  const commands = handler(events, actor)
  const notes = noteStore(events, actor)
  const placed = placer(events)

  async function* readAll(options?: ReadAllOptions): AsyncGenerator<StreamedEvent, void> {
    const given = checkedOptions(options, { after: kinds.anything })
    if (E.isLeft(given)) throw toError(given.left)
    const { after } = given.right
    const pace = pacer()
    for (let from = after; ;) {
      const page = await events.readAll({ after: from, limit: streamPage, prefixes: [streamOf('')] })()
      if (E.isLeft(page)) throw toError(page.left)
      for (const event of page.right.events) {
        const streamed = await placed(event)
        if (streamed) yield streamed
        const pause = pace(event.data.length)
        if (pause) await pause
      }
      await breath()
      if (page.right.checkpoint === from) return
      from = page.right.checkpoint
    }
  }

  async function* follow(given?: FollowConversations): AsyncGenerator<FollowedEvent, void> {
    const checked = checkedOptions(given, followFields)
    if (E.isLeft(checked)) throw toError(checked.left)
    const { prefixes = [''], after, signal } = checked.right
    const options: FollowOptions = {
      prefixes: prefixes.map(streamOf),
      ...(after !== undefined && { after }),
      ...(signal && { signal }),
    }
    for await (const followed of events.follow(options)) {
      const streamed = followed.type === 'event' ? await placed(followed.event) : undefined
      if (streamed) yield { type: 'event', ...streamed }
      else yield { type: 'checkpoint', checkpoint: followed.checkpoint }
    }
  }

  return {
    url: events.url,
    conversation: (id) => conversation(events, commands, notes, id),
    conversations: overviewer(events, notes.index),
    importSession: (session, options) => importing(events, session, options),
    readAll,
    follow,
    check: () => events.integrity?.() ?? TE.right(undefined),
    backup: (file, options = {}) => backupOf(events, file, options),
    gc: (options) => task(() => collect(adapter, options)),
    close: events.close,
  }
}

/** The importers are a large part of the library, so they are loaded by the first import. */
const importing =
  (
    store: LargeContentStore,
    ...given: Parameters<Store['importSession']>
  ): ReturnType<Store['importSession']> =>
  async () => {
    const [session, options] = given
    const now = [asNow(session), asNow(options)] as const
    const { importSession } = await import('../jobs/import.ts')
    return run(importSession(store, ...now))
  }

const followFields = { after: kinds.anything, prefixes: kinds.texts, signal: kinds.signal }
const maxOffsets = 10_000

/**
 * Gives events their positions: those of a fork do not begin at 0. Undefined for a conversation that has lost its first events: a deleted
 * one must not keep anybody from reading the others.
 */
const placer = (store: EventStore): ((event: RecordedEvent) => Promise<StreamedEvent | undefined>) => {
  const offsets = remembered<number>(maxOffsets)
  const offsetOf = async (id: string): Promise<number | undefined> => {
    const known = offsets.get(id)
    if (known !== undefined) return known
    const lineage = await loadLineage(store, id)
    if (E.isLeft(lineage) && lineage.left._tag === 'HistoryLost') return undefined
    if (E.isLeft(lineage)) throw toError(lineage.left)
    const offset = lineage.right?.[0]?.offset ?? 0
    offsets.set(id, offset)
    return offset
  }
  return async (recorded) => {
    const { stream, revision, checkpoint } = recorded
    const id = conversationOf(stream) ?? stream
    const offset = await offsetOf(id)
    if (offset === undefined) return undefined
    const position = offset + revision
    const decoded = decode(recorded, { stream, revision, position })
    if (E.isLeft(decoded)) throw toError(decoded.left)
    return { conversation: id, event: decoded.right, checkpoint }
  }
}
