import type { Catalogue } from '../catalogue/port.ts'
import type { TaskConversation } from './conversation.ts'
import type { RetentionMethods } from './retention.ts'
import type { InvalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import type { ImportError } from '../transfer/formats/errors.ts'
import type { SessionFile } from '../transfer/formats/parse-session.ts'
import type { BackupError } from '../store/backup.ts'
import type { BlobGcReport, GcOptions } from '../store/blobs/gc.ts'
import type { FollowSessionOptions, GrowingSession } from '../transfer/follow-session.ts'
import type { ModelExchange } from '../recorder/exchange.ts'
import type { RecordError, RecordedCall } from '../recorder/recorder.ts'
import type { ImportOptions } from '../transfer/import.ts'
import type { ImportResult } from '../transfer/import-result.ts'
import type { ListOptions } from '../catalogue/list/list-pages.ts'
import type { ConversationInfo } from '../catalogue/list/conversation-info.ts'
import type { SessionStream } from '../transfer/read-session.ts'
import type {
  OriginalChange,
  OriginalError,
  OriginalInfo,
  OriginalsOptions,
  OriginalVersion,
} from '../transfer/write-original.ts'
import type { Audit } from '../audit/ledger/audit.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { StoreError, WriteError } from '../store/errors.ts'
import type { OpenStepInfo, StepsOptions, Roster, RosterOptions } from '../agent/workers/peers/roster.ts'
import type { WorkerError, PauseOptions, ResumeOptions } from '../agent/workers/requests.ts'
import type { WorkerMethods, WorkerOptions } from '../agent/workers/create-worker.ts'
import type { BackedUp, BackupOptions, Checkpoint } from '../store/port.ts'

/** An event with its conversation and its checkpoint in the store's global order. */
export interface StreamedEvent {
  readonly conversation: string
  readonly event: ConversationEvent
  /** Checkpoint of this event: pass it as `after` to continue after the event. */
  readonly checkpoint: Checkpoint
}

export interface ReadAllOptions {
  readonly after?: Checkpoint | undefined
  /**
   * Called once for each conversation that is omitted because the database has lost some of its events (`HistoryLost`), with a
   * description of the problem.
   */
  readonly onUnreadable?: ((conversation: string, problem: string) => void) | undefined
}
export interface FollowConversations extends ReadAllOptions {
  /** Starting point if `after` is not given: `'now'` yields only new events. Default: all events, from the first one on. */
  readonly from?: 'now' | undefined
  /** Prefixes of the ids of the conversations to include. Default: all conversations. */
  readonly prefixes?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}
/** An event, or a checkpoint that was reached without finding another event. */
export type FollowedEvent =
  | ({ readonly type: 'event' } & StreamedEvent)
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** An open store. `Chat` is the type of its conversations. */
export interface StoreOf<W extends ResultStyle, Chat> {
  /** URL that the store was opened with, without credentials. */
  readonly url: string
  /**
   * Returns a handle of a conversation, which need not exist yet. Reads nothing; if the id is invalid, each method of the handle fails
   * with `InvalidInput`.
   *
   * @example
   * await store.conversation('task-44').append({ role: 'user', content: 'Hello.' })
   */
  readonly conversation: (id: string) => Chat
  /**
   * Lists all conversations, by default the most recently begun in this store first. If a conversation cannot be read, `problem` gives
   * the reason. Throws a `StoreError` or `InvalidInput` during iteration.
   *
   * @example
   * for await (const { id, title, events } of store.conversations({ beginning: 'task-' })) console.log(id, title, events)
   */
  readonly conversations: (options?: ListOptions) => AsyncIterable<ConversationInfo>
  /**
   * Imports a session file in any format of `Format`, recognised by its content. The file is given as text or, at any size, as bytes.
   * It is imported whole or not at all; importing the same file twice adds nothing. Errors: an `ImportError`, such as `UnknownFormat`
   * or `BadLine`, or a `WriteError`.
   *
   * @example
   * const text = JSON.stringify([{ role: 'user', content: 'Hello.' }])
   * const { conversations } = await store.importSession({ text, file: 'session.json', id: 'imported' })
   */
  readonly importSession: (
    session: SessionFile | SessionStream,
    options?: ImportOptions,
  ) => MethodResult<W, ImportError | WriteError, ImportResult>
  /**
   * Imports a session file and then what its program adds to it, until the signal aborts: only new bytes are read. Yields the result of
   * each import that added something. Throws what `importSession` fails with during iteration.
   *
   * @example
   * import { createReadStream } from 'node:fs'
   * const file = 'examples/sessions/pi.jsonl'
   * const session = { file, bytes: (start: number) => createReadStream(file, { start }) }
   * for await (const { conversations } of store.followSession(session, { signal: AbortSignal.timeout(100) }))
   *   for (const { id, added } of conversations) console.log(id, added)
   */
  readonly followSession: (
    session: GrowingSession,
    options?: FollowSessionOptions,
  ) => AsyncIterable<ImportResult>
  /**
   * Adds to the file that is kept beside a conversation (`chat.original()`), or replaces its end. It imports nothing: `importSession`
   * makes the conversation of it. Replaced text stays in the log. Errors: `Conflict` if somebody else changed the file since
   * it was read; `OriginalNotKept` if it was erased; `InvalidInput`; a `WriteError`.
   *
   * @example
   * const text = JSON.stringify({ type: 'session', version: 3, id: 's', cwd: '/' }) + '\n'
   * const { revision } = await store.writeOriginal('mirrored', { format: 'pi', text, after: -1 })
   */
  readonly writeOriginal: (
    conversation: string,
    change: OriginalChange,
  ) => MethodResult<W, OriginalError, OriginalVersion>
  /**
   * Lists the files that are kept beside conversations, in order of the ids; erased ones are left out. Throws a `StoreError` or
   * `InvalidInput` during iteration.
   *
   * @example
   * for await (const { conversation, bytes } of store.originals({ beginning: 'task-' })) console.log(conversation, bytes)
   */
  readonly originals: (options?: OriginalsOptions) => AsyncIterable<OriginalInfo>
  /**
   * Records a call that another program has made: the request's messages become the history of a conversation, with a receipt that
   * proves the request. The conversation is found by the session that the program names, or by its history. Returns undefined if the
   * exchange is no call of a model. Calls of one store are recorded one at a time, in the order given. docs/record.md. Errors: a
   * `WriteError`.
   *
   * @example
   * const body = new TextEncoder().encode(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello.' }] }))
   * const reply = { status: 0, headers: {}, body: new Uint8Array(), isWhole: false }
   * const [begun, ended] = [new Date(), new Date()]
   * await store.record({ path: '/v1/messages', headers: {}, body, begun, ended, reply })
   */
  readonly record: (exchange: ModelExchange) => MethodResult<W, RecordError, RecordedCall | undefined>
  /**
   * Reads all events stored so far, in global order. Skips conversations that have lost events; `conversations` lists them with a
   * `problem`. Throws a `ReadError` during iteration.
   *
   * @example
   * for await (const { conversation, event } of store.readAll()) console.log(conversation, event.position, event.type)
   */
  readonly readAll: (options?: ReadAllOptions) => AsyncIterable<StreamedEvent>
  /**
   * Yields all events in global order, or those after a checkpoint, then new ones as they arrive, until the signal aborts or the store
   * closes. Throws a `ReadError` during iteration.
   *
   * @example
   * for await (const followed of store.follow({ prefixes: ['task-'], signal: AbortSignal.timeout(100) }))
   *   if (followed.type === 'event') console.log(followed.conversation, followed.event.type)
   */
  readonly follow: (options?: FollowConversations) => AsyncIterable<FollowedEvent>
  /**
   * Returns a worker, which runs the turns requested with `answer` or `request`. Any number of worker processes share this work and
   * take over from workers that die. Throws `InvalidInput` if the options are wrong. `run` reports how the worker ended; it fails with
   * `InvalidInput` only. docs/workers.md.
   *
   * @example
   * const worker = store.worker({ name: 'billing', turn: () => ({ client, model: 'claude-opus-5-5' }) })
   * await worker.run({ signal: AbortSignal.timeout(100) })
   */
  readonly worker: (options: WorkerOptions<Chat>) => WorkerMethods<W>
  /**
   * Reports that the process of a worker has ended, so that other workers take over its steps at once. `worker` is its id, which the
   * store need not know: the process may have died before it wrote anything. Errors: `InvalidInput` for an invalid worker id; a
   * `WriteError`.
   *
   * @example
   * const worker = store.worker({ turn: () => ({ client, model: 'claude-opus-5-5' }) })
   * await store.workerStopped(worker.id, { reason: 'killed' })
   */
  readonly workerStopped: (
    worker: string,
    options?: { readonly reason?: string | undefined },
  ) => MethodResult<W, WriteError, void>
  /**
   * Pauses the worker with this id: it begins no further step until it is resumed, but continues the steps in progress. Errors:
   * `WorkerNotFound` if the worker does not exist or has stopped.
   *
   * @example
   * for await (const { workers } of store.workers())
   *   for (const { worker } of workers) await store.pauseWorker(worker, { by: 'ann', reason: 'maintenance' })
   */
  readonly pauseWorker: (worker: string, options: PauseOptions) => MethodResult<W, WorkerError, void>
  /**
   * Resumes a paused worker, which then begins steps again. Errors: `WorkerNotFound`.
   *
   * @example
   * for await (const { workers } of store.workers())
   *   for (const { worker, paused } of workers) if (paused) await store.resumeWorker(worker, { by: 'ann' })
   */
  readonly resumeWorker: (worker: string, options: ResumeOptions) => MethodResult<W, WorkerError, void>
  /**
   * Lists the open steps of workers, oldest first. Reads the workers' latest checkpoint and the events after it. Throws a `StoreError`
   * or `InvalidInput` during iteration.
   *
   * @example
   * for await (const { conversation, errors } of store.steps({ state: 'parked' })) console.log(conversation, errors.at(-1))
   */
  readonly steps: (options?: StepsOptions) => AsyncIterable<OpenStepInfo>
  /**
   * Lists the workers and the steps of each: once, or at an interval in milliseconds until the signal aborts. Reads the workers' latest
   * checkpoint, and each event after it once. Throws a `StoreError` or `InvalidInput` during iteration.
   *
   * @example
   * for await (const { workers } of store.workers()) console.log(workers.map(({ worker, steps }) => [worker, steps.length]))
   */
  readonly workers: (options?: RosterOptions) => AsyncIterable<Roster>
  /** Queries answered from an index outside the store, such as outlines of conversations of any length. */
  readonly catalogue: Catalogue<W>
  /** A signed ledger that proves to others that conversations are unchanged. */
  readonly audit: Audit<W>
  /** Rules about how long content is kept, and their application. */
  readonly retention: RetentionMethods<W>
  /**
   * Checks the whole database file for damaged pages and for indexes that do not match their tables. Does nothing for a store that is
   * not a file. Errors: `StoreCorrupt`, which names the damage.
   *
   * @example
   * await store.check()
   */
  readonly check: () => MethodResult<W, StoreError, void>
  /**
   * Writes a backup of everything committed so far, including large content, to another file. Others can write to the store meanwhile.
   * The file appears under its name only after it has been completed, checked and flushed to disk; it is private to its owner and opens
   * as `sqlite:FILE`. SQLite stores only. Errors: `FileExists` (overwrite with `force`), `InvalidInput`, `StoreCorrupt` if the store is
   * damaged.
   *
   * @example
   * await store.backup('monday.db', { force: true })
   */
  readonly backup: (file: string, options?: BackupOptions) => MethodResult<W, BackupError, BackedUp>
  /**
   * Removes large content that no event refers to, left over from interrupted appends. Errors: `InvalidInput` for an `olderThan` in the
   * future.
   *
   * @example
   * const { unreferenced } = await store.gc({ dryRun: true })
   */
  readonly gc: (options?: GcOptions) => MethodResult<W, StoreError | InvalidInput, BlobGcReport>
  /**
   * Yields the bytes of large content stored outside events, in pieces; nothing if it does not exist. The content is given by its
   * SHA-256 in hex. The bytes encode a string in UTF-8. If UTF-8 would change the string, they encode its JSON form without the quotes
   * instead. Throws a `StoreError` or `InvalidInput` during iteration.
   *
   * @example
   * for await (const bytes of store.blob('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')) console.log(bytes.length)
   */
  readonly blob: (sha256: string) => AsyncIterable<Uint8Array>
  /**
   * Waits for appends in progress, then closes. Later calls fail with `StoreClosed`.
   *
   * @example
   * await store.close()
   */
  readonly close: () => MethodResult<W, StoreError, void>
}

/** An open store whose methods return TaskEithers. */
export interface TaskStore extends StoreOf<'task', TaskConversation> {}
