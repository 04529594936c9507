import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { lateCatalogue } from '../catalogue/late.ts'
import { placeOf } from '../catalogue/place.ts'
import { type ConversationHandle, type SideStreams, conversation } from '../conversation/conversation.ts'
import { noteStore } from '../conversation/beside/note-keeper.ts'
import { checkJson } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type Actor, metadataSchema } from '../events/events.ts'
import { handler, type RewindHooks } from '../conversation/writing/handle.ts'
import { changesOf } from '../conversation/reading/changes.ts'
import { inboxOf } from '../conversation/beside/inbox.ts'
import { turnLog } from '../conversation/beside/turn-log.ts'
import { backupOf } from '../store/backup.ts'
import { collect } from '../store/blobs/gc.ts'
import { listPages } from '../catalogue/list/list-pages.ts'
import { createInfoLister } from '../catalogue/list/list-infos.ts'
import { type Fallible, task } from '../result/fallible.ts'
import { toError } from '../result/typed-error.ts'
import { lateAudit } from '../audit/ledger/late.ts'
import { checkOptions, unknownOption } from '../store/options.ts'
import type { EventStore, StoreAdapter } from '../store/port.ts'
import type { KeyStore } from '../store/seal/key-store.ts'
import { layeredStore, type LayeredStore } from '../store/whole/layered-store.ts'
import { readers } from './read-all.ts'
import { foreignStore } from './foreign-store.ts'
import { type Creation, type OpenError, openAdapter, addSeal } from './schemes.ts'
import { tell } from '../conversation/beside/worker-log.ts'
import { isConversationId } from '../events/ids.ts'
import type { WriteError } from '../store/errors.ts'
import { type Clock, ownClock } from '../agent/workers/peers/clock.ts'
import { listSteps, rosters } from '../agent/workers/peers/roster.ts'
import { createPauseMethods } from '../agent/workers/requests.ts'
import { programOn } from '../agent/workers/peers/liveness.ts'
import { createWorker, mapServed } from '../agent/workers/create-worker.ts'
import { withIndex } from './by-index.ts'
import { type TaskConversation, taskConversation } from './conversation.ts'
import { lateErasing } from './late-erasing.ts'
import { lateImporter } from './late-importer.ts'
import { lateOriginals } from './late-originals.ts'
import { lateRecorder } from './late-recorder.ts'
import { lateRetention } from './late-retention.ts'
import type { StoreOf, TaskStore } from './store.ts'

export interface StoreOptions extends RewindHooks {
  /** Actor recorded with every event unless its writer names another. Default `{ kind: 'program' }`. */
  readonly actor?: Actor | undefined
  /**
   * Handling of a missing store: true (the default) creates it, false fails with `StoreNotFound`, and `'late'` creates it on the first
   * write, so that an earlier failure leaves nothing.
   */
  readonly create?: Creation | undefined
  /**
   * Size in bytes above which a string is stored once, outside the events that contain it. Default 65,536; at least 1,024. It affects
   * writing only: conversations read, hash and export the same with every value.
   */
  readonly largeContent?: number | undefined
  /**
   * Folder for the index file of `catalogue`. The file is rebuilt if it is lost. Default: the folder of the store's file for SQLite;
   * other stores keep the index in memory, and so do sealed ones unless a folder is given, because the index contains words of
   * conversations.
   */
  readonly index?: string | undefined
  /**
   * Keys with which the content of conversations is encrypted: the path of a file, or of a folder if it ends with a slash, or a
   * `KeyStore` (docs/sealing.md). Same as the parameter `?seal=` of the URL. Default: content is not encrypted.
   */
  readonly seal?: string | KeyStore | undefined
}

/**
 * Opens a store by its URL: `memory:`, `sqlite:path/to/file.db` (created if missing), `esdb://host:2113` (docs/eventstoredb.md), or a
 * URL of a registered scheme (`registerStore`). SQLite parameters: `?synchronous=full|normal|off` (default full: an append that
 * returned survives a power cut), `&timeout=5000` (maximum wait for another process's lock, in milliseconds). With `?seal=`, content
 * is encrypted (docs/sealing.md).
 *
 * An open `StoreAdapter` may be given in place of a URL; closing the returned store closes it.
 */
export const openStore = (
  source: string | StoreAdapter,
  options: StoreOptions = {},
): TE.TaskEither<OpenError, TaskStore> =>
  pipe(
    openOptions(options),
    TE.fromEither<OpenError, StoreOptions>,
    TE.flatMap(({ create = true, actor, largeContent, index, seal, ...hooks }) =>
      pipe(
        openSource(source, create, seal),
        TE.map((events) =>
          taskStore(storeOn(events, actor ?? { kind: 'program' }, largeContent, ownClock, index, hooks)),
        ),
      ),
    ),
  )

const defaultLargeContent = 65_536
const leastLargeContent = 1_024
const isLargeContent = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= leastLargeContent

const isCreate = (value: unknown): value is Creation => typeof value === 'boolean' || value === 'late'

const hookNames = ['beforeRewind', 'afterRewind'] as const

const openOptions = (options: unknown): E.Either<InvalidInput, StoreOptions> => {
  if (typeof options !== 'object' || options === null)
    return E.left(invalidInput('options', 'must be an object, like { create: false }'))
  const { actor, create, largeContent, index, seal, ...hooks }: Readonly<Record<string, unknown>> = {
    ...options,
  }
  const unknown = unknownOption(options, ['actor', 'create', 'largeContent', 'index', 'seal', ...hookNames])
  if (unknown) return E.left(unknown)
  if (create !== undefined && !isCreate(create))
    return E.left(invalidInput('create', "must be true, false or 'late'"))
  if (largeContent !== undefined && !isLargeContent(largeContent))
    return E.left(
      invalidInput('largeContent', `must be a whole number of bytes, at least ${leastLargeContent}`),
    )
  if (index !== undefined && (typeof index !== 'string' || index === ''))
    return E.left(invalidInput('index', 'must be the path of a folder'))
  if (seal !== undefined && !isKeys(seal))
    return E.left(invalidInput('seal', 'must be the path of a file or a folder of keys, or a KeyStore'))
  for (const name of hookNames)
    if (hooks[name] !== undefined && typeof hooks[name] !== 'function')
      return E.left(invalidInput(name, 'must be a function'))
  const rest = {
    ...(hooks as RewindHooks),
    ...(index !== undefined && { index }),
    ...(seal !== undefined && { seal }),
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

/** Reports whether a value is a path of keys, or has the methods of a `KeyStore`. */
const isKeys = (value: unknown): value is string | KeyStore =>
  typeof value === 'string'
    ? value !== ''
    : ['read', 'write', 'close'].every((name) => typeof Reflect.get(Object(value), name) === 'function') &&
      ['function', 'undefined'].includes(typeof Reflect.get(Object(value), 'scrub'))

const openSource = (
  source: string | StoreAdapter,
  create: Creation,
  keys?: string | KeyStore,
): TE.TaskEither<OpenError, EventStore> =>
  typeof source === 'string'
    ? openAdapter(source, create, keys)
    : pipe(TE.fromEither<OpenError, EventStore>(foreignStore(source)), TE.flatMap(addSeal(keys)))

/** Opens an event store from a URL or an adapter, with the layers for large content and for writes to several streams. */
export const openEvents = (
  source: string | StoreAdapter,
  create: Creation = true,
): TE.TaskEither<OpenError, LayeredStore> =>
  pipe(
    openSource(source, create),
    TE.map((events) => layeredStore(events, defaultLargeContent)),
  )

/** Returns the path of a store's index; undefined for an index in memory, as that of a sealed store is unless a folder is given. */
export const indexPlaceOf = ({ url, isSealed }: EventStore, folder?: string): string | undefined =>
  isSealed && folder === undefined ? undefined : placeOf(url, folder)

/** Builds the index at a place again after an erasure, because it has the words of conversations. */
export const renewIndexAt = async (place: string | undefined): Promise<void> => {
  if (place !== undefined) (await import('../catalogue/file.ts')).renewFile(place)
}

/** Adds the methods for agents and people to the conversations of a store. */
export const taskStore = (store: StoreOf<'task', ConversationHandle>): TaskStore => {
  const methodsOf = (chat: ConversationHandle): TaskConversation => taskConversation(chat, store.catalogue)
  return {
    ...store,
    conversation: (id) => methodsOf(store.conversation(id)),
    worker: (options) => store.worker(mapServed(options, methodsOf)),
  }
}

/**
 * Returns a store of conversations on top of an event store of any kind.
 *
 * @param largeContent as in `StoreOptions`
 * @param index as in `StoreOptions`
 */
export const storeOn = (
  adapter: EventStore,
  actor: Actor,
  largeContent: number = defaultLargeContent,
  clock: Clock = ownClock,
  index?: string,
  hooks?: RewindHooks,
): StoreOf<'task', ConversationHandle> => {
  const events = layeredStore(adapter, largeContent)
  const place = indexPlaceOf(adapter, index)
  const { infos, infosOf, close, ...catalogue } = lateCatalogue(events, place, index)
  const commands = handler(events, actor, hooks)
  const importer = lateImporter(events)
  const notes = noteStore(events, actor)
  const renewIndex = (): Promise<void> => renewIndexAt(place)
  const erasing = { events, adapter, actor, onErased: renewIndex }
  const beside: SideStreams = {
    notes,
    turnLog: (id) => turnLog(events, actor, id),
    inbox: (id) => inboxOf(events, actor, id),
    changes: (id) => changesOf(adapter, id),
    party: programOn(adapter, actor, clock),
    ...lateErasing(erasing),
  }

  const conversationOf = (id: string) => conversation(events, commands, beside, id)
  const surroundings = { store: adapter, actor, conversation: conversationOf }

  return {
    url: events.url,
    conversation: conversationOf,
    worker: (options) => createWorker(surroundings, options),
    workerStopped: (worker, options) =>
      task(async function* (): Fallible<WriteError, void> {
        if (!isConversationId(worker)) return yield noWorkerId
        const checked = checkOptions(options, { reason: { is: isString, needed: 'must be a string' } })
        if (E.isLeft(checked)) return yield checked.left
        const { reason } = checked.right
        yield* tell(adapter, actor, worker, { type: 'WorkerStopped', data: { ...(reason && { reason }) } })
      }),
    ...createPauseMethods(adapter, actor),
    steps: (options) => listSteps(adapter, options),
    workers: (options) => rosters(adapter, options),
    conversations: withIndex({
      infos: createInfoLister(events, notes.index),
      pages: (options) => listPages(events, notes.index, options),
      catalogue: { infos, infosOf },
      isKept: place !== undefined,
    }),
    importSession: importer.importSession,
    record: lateRecorder({ events, conversation: conversationOf }),
    followSession: importer.followSession,
    ...lateOriginals(events),
    ...readers(events),
    check: () => events.integrity?.() ?? TE.right(undefined),
    backup: (file, options = {}) => backupOf(events, file, options),
    gc: (options) => task(() => collect(adapter, options)),
    blob: (sha256) => blobOf(adapter, sha256),
    catalogue,
    audit: lateAudit({ store: events, actor, conversation: conversationOf }),
    retention: lateRetention(erasing),
    close: () => async () => {
      importer.close()
      await close()
      return events.close()()
    },
  }
}

async function* blobOf({ blobs }: EventStore, sha256: string): AsyncGenerator<Uint8Array, void> {
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw toError(invalidInput('sha256', 'must be a SHA-256 in hex: 64 characters of 0–9 a–f'))
  yield* blobs.get(sha256)
}

const isString = (value: unknown): boolean => typeof value === 'string'

const noWorkerId = invalidInput(
  'worker',
  'must be the id of a worker: `id` of `store.worker`, or as listed by `store.workers()`',
)
