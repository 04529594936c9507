import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../events/codec.ts'
import type { EventForm } from '../events/erased-form.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { FileExists, StoreError } from './errors.ts'

/**
 * Opaque position in the global order of a store's events. Only a checkpoint issued by the same store is valid; any other value is
 * `InvalidInput`.
 */
export type Checkpoint = string

/** An event's part in a write of several appends. The events of such a write count only once the write is complete (ADR 13). */
export interface WritePart {
  /** Revision of the write's first event in the event's stream. */
  readonly from: number
  /**
   * Present only in the write's last event in the stream. `true`: this event completes the write. A name: an event in the stream of
   * that name completes the write by naming this stream.
   */
  readonly last?: true | string
}

/** A stored event with its stream, revision and checkpoint. */
export interface RecordedEvent extends StoredEvent {
  readonly stream: string
  /** 0-based index of the event in its stream. */
  readonly revision: number
  readonly checkpoint: Checkpoint
  readonly part?: WritePart
}

/** A stored event that takes the place of another one: same stream, revision, id and type. */
export interface EventReplacement {
  readonly stream: string
  readonly revision: number
  readonly event: StoredEvent
}

/** Last revision of a stream as a writer read it; -1 if the stream had no events. */
export interface ReadEnd {
  readonly stream: string
  readonly expected: number
}

/** Events to append to one stream. */
export interface AppendRequest {
  readonly stream: string
  /** One or more events; either all of them are written or none. */
  readonly events: readonly StoredEvent[]
  /** Last revision of the stream as the writer read it; -1 if the stream must not exist. */
  readonly expected: number
  /**
   * Repeats of this append that the store must detect. Default: only a repeat at the same revisions; the events need not be indexed for
   * `find`, because indexing slows every append. `'none'`: no repeat, because no other writer can have sent events with these ids.
   * `'first'`: `find` must find the first event, at any revision. `'each'`: `find` must find every event. `'silent'`: like `'first'`,
   * but the outcome may be `taken`, which does not say whether this append or a repeat wrote the events.
   */
  readonly repeat?: 'none' | 'first' | 'each' | 'silent'
  /**
   * Marks the events as part of a write of several appends. Adapters ignore this property: `layeredStore` stores it in the metadata.
   */
  readonly part?: WritePart
  /**
   * Existing events, of any streams, to replace if the events of this append are written, or exist already at exactly these revisions;
   * all of it happens or nothing. Only for stores with `scrub`.
   */
  readonly replaces?: readonly EventReplacement[]
  /**
   * Form of each event without its content, for a store with `isSealed`. `layeredStore` adds it to events whose content it
   * changes: their hashes are those of the whole events.
   */
  readonly forms?: readonly (EventForm | undefined)[]
  /**
   * Other streams that must still end as the writer read them: if one does not, the append is a conflict. Only for stores with `scrub`.
   */
  readonly unchanged?: readonly ReadEnd[]
  /**
   * Prefix of the names of streams of which none may have been written since a checkpoint that `changed` returned: if one was, the append
   * is a conflict. Only for stores with `scrub`.
   */
  readonly unwritten?: UnwrittenStreams
}

/** Streams of which none was written since a checkpoint. */
export interface UnwrittenStreams {
  readonly prefix: string
  readonly since: Checkpoint
}

/**
 * Outcome of an append. `repeated`: events with these ids already existed, possibly with other texts (another time, another actor), so
 * read them before you append to them. If two writers send the same texts at once, the outcome of one is `written`. `taken`: either
 * `written` or `repeated`; only for an append with `repeat: 'silent'`.
 */
export type AppendOutcome = 'written' | 'repeated' | 'taken'

/**
 * Events of one stream to read: at most `limit`, in the given direction, starting at revision `from`. If the data of the events exceeds
 * `largePage`, fewer events are returned, but at least one. A backward read from beyond the end starts with the last event.
 */
export interface StreamRange {
  readonly stream: string
  readonly from: number
  readonly direction: 'forwards' | 'backwards'
  /** Maximum number of events to return, from 1 to `maxPage`. */
  readonly limit: number
}

/** Maximum number of events that one read returns. */
export const maxPage = 1_000
/** Maximum number of events that one append replaces. */
export const maxReplaced = 1_000
/** Number of events read at a time when reading everything: few enough to be freed before the garbage collector promotes them. */
export const streamPage = 200
/** Data size, in characters, above which a page may have fewer events than requested. */
export const largePage = 64 * 1024

/**
 * A store's record of the last event of a stream, kept in addition to the events; during writes, it may describe an event near the end.
 * It reveals that the end of a stream was changed or lost, which the hash chain cannot reveal.
 */
export interface KeptEnd {
  /** Revision of the recorded event. */
  readonly last: number
  /** Hash of the event as appended, computed by `hashOf`. */
  readonly hash: string
}

/** The result of `find`. */
export interface FindResult {
  /** Revision of the event; undefined if the stream has no event with that id. */
  readonly revision: number | undefined
  /** Last revision searched; -1 if no event was searched. The event may exist at a later revision. */
  readonly through: number
}

/** A page of events of all streams, in global order. */
export interface AllPage {
  readonly events: readonly RecordedEvent[]
  /** Checkpoint up to which the store was searched, from which to continue; undefined in a store without events. */
  readonly checkpoint: Checkpoint | undefined
  /**
   * True if nothing came after the page when it was read, so that no further page is needed to get all events of that time. If a store
   * does not set this property, the end is reached with a page that has no events and no later checkpoint than the previous page. While
   * others keep writing, such a page may not come until they stop.
   */
  readonly isEnd?: boolean | undefined
}

/** The streams written since a checkpoint. */
export interface StreamChanges {
  /** Current checkpoint; undefined in a store without events, and in a store that cannot determine it. */
  readonly checkpoint: Checkpoint | undefined
  /**
   * Names of the streams; undefined if any stream may have been written, because no checkpoint was given or too much was written since.
   */
  readonly streams: ReadonlySet<string> | undefined
}

export interface AllRange {
  /** Prefixes of the names of the streams to include. Default: all streams. */
  readonly prefixes?: readonly string[] | undefined
  /** Checkpoint after which to start. Default: start with the first event. */
  readonly after?: Checkpoint | undefined
  /** Maximum number of events to return, from 1 to `maxPage`. */
  readonly limit: number
}

export interface FollowOptions extends Omit<AllRange, 'limit'> {
  /** Signal that ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined
  /**
   * True to throw when the connection to the store breaks, for followers that must know how old their data is. Default: the store
   * resumes where it stopped. A store without a connection ignores this option.
   */
  readonly untilBroken?: boolean | undefined
}

/** An item passed to a follower: an event, or the checkpoint up to which the store was searched without a match. */
export type FollowItem =
  | { readonly type: 'event'; readonly event: RecordedEvent; readonly checkpoint: Checkpoint }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** Store for content that is kept outside the events that refer to it: bytes under their SHA-256 (hex), deduplicated. */
export interface BlobStore {
  /**
   * Stores the chunks, in order, under the hash of their whole content; if that content is already stored, only updates its time.
   * Stores either all chunks or none. A chunk has at most `blobChunk` bytes and belongs to the store from then on. The chunks may be
   * iterated more than once.
   */
  readonly put: (sha256: string, chunks: Iterable<Uint8Array>) => TaskEither<StoreError, void>
  /**
   * Yields the bytes of a blob in order, in pieces of any size; yields nothing if the blob does not exist. The bytes are not verified.
   * Throws a `StoreError` during iteration.
   */
  readonly get: (sha256: string) => AsyncIterable<Uint8Array>
  /** Yields all blobs, in any order. Throws a `StoreError` during iteration. */
  readonly list: () => AsyncIterable<BlobInfo>
  /** Removes the blob, unless it was put at or after `before`. */
  readonly remove: (sha256: string, before: Date) => TaskEither<StoreError, void>
  /** Returns the size and time of a blob; undefined if it does not exist. For stores that find it faster than by listing all blobs. */
  readonly info?: (sha256: string) => TaskEither<StoreError, BlobInfo | undefined>
  /**
   * Returns why a blob that does not exist cannot be read, and what to do, as the end of a sentence about it; undefined if that is
   * unknown. For stores with `isSealed`.
   */
  readonly whyAbsent?: (sha256: string) => TaskEither<StoreError, string | undefined>
}

export interface BlobInfo {
  readonly sha256: string
  readonly bytes: number
  /** Time of the last `put`. */
  readonly time: Date
}

/** Maximum bytes of a chunk: half of the limit for one append call of EventStoreDB. */
export const blobChunk = 512 * 1024

/** Makes a held name unknown again. Never rejects: what cannot be released is inherited once this process has ended. */
export type NameRelease = () => Promise<void>

/**
 * Names held by the processes that work on a store, which show which of these processes are alive. The operating system or the database
 * determines this, without comparing clocks. The promises never reject: a failure counts as unknown.
 */
export interface Liveness {
  /**
   * Holds a new name, which was never used before, until it is released or this process ends in any way.
   *
   * @param lost called at most once if another process may have concluded that this one has ended, for example because the connection to
   * the database broke: the holder must stop. Never called where a name cannot be lost
   * @returns a function that releases the name; undefined if the store cannot hold names on this system
   */
  readonly hold: (name: string, lost?: () => void) => Promise<NameRelease | undefined>
  /**
   * Holds a name whose process ended without releasing it, and returns the function that releases it. Returns undefined if the name is
   * held or unknown, or if its state cannot be determined.
   */
  readonly inherit: (name: string) => Promise<NameRelease | undefined>
  /** Returns the names that were held and have not been released. */
  readonly names: () => Promise<readonly string[]>
}

export interface BackupOptions {
  /** True to overwrite an existing file. Default false. */
  readonly force?: boolean | undefined
}

/** Path, size and contents of a backup. */
export interface BackedUp {
  /** Path of the backup file as given. */
  readonly file: string
  readonly bytes: number
  readonly streams: number
  readonly events: number
  /** Number of blobs, which contain the content stored outside events. */
  readonly blobs: number
}

/**
 * Events of a database: the operations that every store must provide. The contract, in the order of its tests (palimpsest/testing):
 *
 * 1. An append at the stream's last revision writes all its events, in order, at the next revisions. Any other append is a `Conflict`
 *    with the actual last revision, and writes nothing. Content that could not be stored and returned unchanged is `InvalidInput`. The
 *    caller may change the objects of an append again as soon as its task runs.
 * 2. An append of events that already exist at exactly these revisions (same ids) succeeds and writes nothing.
 * 3. Once an append has returned, its events survive the end of the process and of the machine, within the store's own durability.
 * 4. Texts are returned byte for byte.
 * 5. Reading a stream that does not exist yields no events. A read sees every append that returned before it.
 * 6. Checkpoints order all events as they were committed: a follower never misses one. A checkpoint that the store cannot have
 *    issued is `InvalidInput`.
 * 7. Blobs are returned byte for byte, even if several writers put them at once, and are not events.
 * 8. Every stream to which an append has returned is listed, both by name and by the time at which it began.
 */
export interface EventLog {
  /** URL of the store without credentials, for messages. */
  readonly url: string
  /** Appends events. Only a store that keeps large content outside its events (see `blobs`) fails with `EventTooLarge`. */
  readonly append: (
    append: AppendRequest,
  ) => TaskEither<StoreError | EventTooLarge | InvalidInput, AppendOutcome>
  readonly read: (range: StreamRange) => TaskEither<StoreError, readonly RecordedEvent[]>
  readonly readAll: (range: AllRange) => TaskEither<StoreError | InvalidInput, AllPage>
  /** Yields existing events, then new ones as they are written. Throws a `StoreError` or `InvalidInput` during iteration. */
  readonly follow: (options: FollowOptions) => AsyncIterable<FollowItem>
  readonly close: () => TaskEither<StoreError, void>
}

/** Queries that a database answers without reading all events. For other databases, `indexFromEvents` answers them slowly. */
export interface StreamIndex {
  /**
   * Looks for an event by its id. The event must have been appended with `repeat: 'first'`, `'each'` or `'silent'`. A store may search
   * only the newest events.
   */
  readonly find: (stream: string, eventId: string) => TaskEither<StoreError, FindResult>
  /**
   * Returns the number of events of a type in a stream, up to and including a revision; undefined in a store that would have to read
   * all of these events.
   */
  readonly count: (
    stream: string,
    type: string,
    through: number,
  ) => TaskEither<StoreError, number | undefined>
  /** Returns the store's record of the end of a stream; undefined if the store keeps no record or the stream does not exist. */
  readonly keptEnd: (stream: string) => TaskEither<StoreError, KeptEnd | undefined>
  /** Returns at most `limit` names of streams that begin with `prefix`, after the name `after`, in order of UTF-8 bytes. */
  readonly streams: (
    prefix: string,
    after: string,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * Returns at most `limit` names of streams that begin with one of the prefixes, most recently begun first, including only streams
   * begun before the stream `before`, which may have any prefix. The cost depends on the result, not on the size of the store. The
   * result may include a stream that was never written.
   */
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * Returns the given streams that were certainly never written, and therefore not deleted either. May omit streams for which finding
   * out would cost more than a few reads. Only useful in stores in which reading a missing stream costs as much as any other read.
   */
  readonly neverBegun?: (streams: readonly string[]) => TaskEither<StoreError, ReadonlySet<string>>
  /** Returns the streams with a name prefix that were written since a checkpoint returned by `changed`. */
  readonly changed: (prefix: string, since: Checkpoint | undefined) => TaskEither<StoreError, StreamChanges>
}

/** Capabilities that only some databases have. */
export interface StoreAbilities {
  /**
   * Checks the database itself, apart from its events; the error `StoreCorrupt` says what is damaged. For stores that support such a
   * check.
   */
  readonly integrity?: () => TaskEither<StoreError, void>
  /** Writes everything committed to another file, which can be opened as a store. For stores that consist of a file. */
  readonly backup?: (
    file: string,
    options: BackupOptions,
  ) => TaskEither<StoreError | InvalidInput | FileExists, BackedUp>
  /**
   * Removes from the store's files what replaced events and removed blobs have left there. A store that provides it must replace events
   * (`AppendRequest.replaces`). It may fail with `StoreBusy` while others read, and can be repeated at any time.
   */
  readonly scrub?: () => TaskEither<StoreError, void>
  /**
   * Rewrites the store's files, once, if an earlier version may have left removed content in their unused parts; called before content
   * is erased. Returns the size of what was rewritten, or in a dry run would be, in bytes; undefined if nothing had to be. Fails before
   * anything is written if there is no room for it. If it was interrupted, the next call repeats it. For stores with `scrub`.
   */
  readonly rewrite?: (options: { readonly dryRun: boolean }) => TaskEither<StoreError, number | undefined>
  /** True if the store encrypts the content of conversations: then nothing of it is written elsewhere, such as in an index file. */
  readonly isSealed?: boolean
  /**
   * Returns when the key of a stored event was destroyed, in ISO 8601; undefined if it was not, or if the event itself was replaced. For
   * stores with `isSealed`.
   */
  readonly keyDestroyed?: (stream: string, revision: number) => TaskEither<StoreError, string | undefined>
  /** Liveness of the processes that work on the store. For stores that can tell at once that a process has ended. */
  readonly liveness?: Liveness
}

/** Everything that Palimpsest requires of a store. `completeStore` makes an `EventStore` from a `StoreAdapter`. */
export interface EventStore extends EventLog, StreamIndex, StoreAbilities {
  readonly blobs: BlobStore
  /** Maximum bytes of data and metadata in one append, for all its events together. */
  readonly maxAppendBytes: number
  /**
   * Reads the first events of several streams at once, at most `limit` of each, by the name of the stream. May omit streams, which are
   * then read one by one. For stores that do it faster than stream by stream.
   */
  readonly beginnings?: (
    streams: readonly string[],
    limit: number,
  ) => TaskEither<StoreError, ReadonlyMap<string, readonly RecordedEvent[]>>
}

/**
 * A custom store: the methods of `EventLog`, and any other members that the database supports well. Missing members are derived from
 * the others: the index reads all events, blobs are stored in streams, `maxAppendBytes` is `Infinity`.
 */
export interface StoreAdapter extends EventLog, Partial<StreamIndex>, StoreAbilities {
  readonly blobs?: BlobStore
  readonly maxAppendBytes?: number
}
