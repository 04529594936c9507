import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { FileExists, StoreError } from './errors.ts'

/**
 * A place in the global order of a store's events. Opaque: only a checkpoint issued by the same store is valid; anything else is
 * `InvalidInput`.
 */
export type Checkpoint = string

/** An event's part in a write of several appends, which counts only once it is complete (ADR 13). */
export interface WritePart {
  /** Revision of the write's first event in this stream. */
  readonly from: number
  /**
   * Present only in the write's last event in this stream. `true`: the write is complete; a name: it is complete once that stream names
   * this one.
   */
  readonly last?: true | string
}

/** A stored event with its place. */
export interface RecordedEvent extends StoredEvent {
  readonly stream: string
  /** 0-based index in the stream. */
  readonly revision: number
  readonly checkpoint: Checkpoint
  readonly part?: WritePart
}

/** Events to append to one stream. */
export interface AppendRequest {
  readonly stream: string
  /** One or more events, written all or nothing. */
  readonly events: readonly StoredEvent[]
  /** Last revision of the stream as the writer read it; -1 if the stream must not exist. */
  readonly expected: number
  /**
   * Repeats of this append that must be noticed. `'none'`: nobody else can have sent events with these ids, so the store need not look for
   * a repeat. `'first'`: a later repeat looks for the first event with `find`. `'each'`: it may look for each. `'silent'`: as `'first'`,
   * and the writer accepts `taken`. Default: a repeat at the same revisions is noticed, and `find` need not find the events, because its
   * index slows every append.
   */
  readonly repeat?: 'none' | 'first' | 'each' | 'silent'
  /** Marks the events as part of a write of several appends. Adapters ignore this: `withWholeWrites` keeps it in the metadata. */
  readonly part?: WritePart
}

/**
 * Outcome of an append. `repeated`: events with these ids were there already, maybe with other texts (another time, another actor), so
 * read them before you append to them. If two send the same texts at once, one has written them. `taken`: one of the two; only if the
 * append is `silent`.
 */
export type AppendOutcome = 'written' | 'repeated' | 'taken'

/**
 * Events of one stream to read: at most `limit`, starting at revision `from`, in the given direction; fewer, but at least one, if their
 * data exceeds `largePage`. A backward read from beyond the end starts with the last event.
 */
export interface StreamRange {
  readonly stream: string
  readonly from: number
  readonly direction: 'forwards' | 'backwards'
  /** 1 to `maxPage`. */
  readonly limit: number
}

/** Maximum number of events that one read returns. */
export const maxPage = 1_000
/** Number of events read at a time when reading everything: few enough to be freed before the garbage collector promotes them. */
export const streamPage = 200
/** Data size, in characters, above which a page may have fewer events than requested. */
export const largePage = 64 * 1024

/**
 * A record about a stream, kept in addition to its events: an event at the end, or near it during writes. It reveals that the end of a
 * stream was changed or lost, which the hash chain cannot.
 */
export interface KeptEnd {
  /** Revision of the event. */
  readonly last: number
  /** `hashOf` the event as appended. */
  readonly hash: string
}

/** The result of `find`. */
export interface FindResult {
  /** Revision of the event; undefined if the stream has no event with that id. */
  readonly revision: number | undefined
  /** Last revision searched; -1 if none was. The event may be among later ones. */
  readonly through: number
}

/** Events of all streams, in global order. */
export interface AllPage {
  readonly events: readonly RecordedEvent[]
  /** Place up to which the store was searched: continue from here. Undefined in a store without events. */
  readonly checkpoint: Checkpoint | undefined
  /**
   * True if nothing came after the page when it was read: no further page is needed to get all events of that time. If a store does not
   * set this, a page that has no events and no later checkpoint than the one before marks the end; while others keep writing, that may
   * not come until they stop.
   */
  readonly isEnd?: boolean | undefined
}

/** The streams written since a checkpoint. */
export interface StreamChanges {
  /** The current checkpoint. Undefined in a store without events, and in one that cannot tell. */
  readonly checkpoint: Checkpoint | undefined
  /** Names of the streams; undefined if it may be any stream: there is no checkpoint, or too much was written since. */
  readonly streams: ReadonlySet<string> | undefined
}

export interface AllRange {
  /** Only streams whose name begins with one of these prefixes. Default: all. */
  readonly prefixes?: readonly string[] | undefined
  /** Only events after this place. Default: from the first event. */
  readonly after?: Checkpoint | undefined
  /** 1 to `maxPage`. */
  readonly limit: number
}

export interface FollowOptions extends Omit<AllRange, 'limit'> {
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined
  /**
   * Throw when the connection to the store breaks, for followers that must know how old their data is. Default: the store resumes where
   * it was. A store without a connection ignores it.
   */
  readonly untilBroken?: boolean | undefined
}

/** An item passed to a follower: an event, or the place up to which the store was searched without a match. */
export type FollowItem =
  | { readonly type: 'event'; readonly event: RecordedEvent; readonly checkpoint: Checkpoint }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** Content stored outside the events that refer to it: bytes under their SHA-256 (hex), deduplicated. */
export interface BlobStore {
  /**
   * Stores the chunks, in order, under the hash of their whole content; if it is already stored, only updates its time. All or nothing.
   * A chunk has at most `blobChunk` bytes, and the store owns it from then on. The chunks may be iterated more than once.
   */
  readonly put: (sha256: string, chunks: Iterable<Uint8Array>) => TaskEither<StoreError, void>
  /**
   * Yields the bytes in order, in pieces of any size; nothing if the blob does not exist. Not verified. Iteration throws a
   * `StoreError`.
   */
  readonly get: (sha256: string) => AsyncIterable<Uint8Array>
  /** Yields all blobs, in any order. Iteration throws a `StoreError`. */
  readonly list: () => AsyncIterable<BlobInfo>
  /** Removes the blob, unless it was put at or after `before`. */
  readonly remove: (sha256: string, before: Date) => TaskEither<StoreError, void>
}

export interface BlobInfo {
  readonly sha256: string
  readonly bytes: number
  /** Time of the last `put`. */
  readonly time: Date
}

/** Maximum bytes of a chunk: half of the limit for one append call of EventStoreDB. */
export const blobChunk = 512 * 1024

/** Tracks which processes working on a store are alive, according to the operating system, without clocks. */
export interface Liveness {
  /**
   * Holds a new, never used name until `release`, or until this process ends in any way.
   *
   * @returns `release`, after which the name is unknown; undefined if names cannot be held here
   */
  readonly hold: (name: string) => (() => void) | undefined
  /** Holds a name whose process ended without releasing it. Undefined if the name is held, unknown, or uncertain. */
  readonly inherit: (name: string) => (() => void) | undefined
  /** Returns the names that were held and not released. */
  readonly names: () => readonly string[]
}

export interface BackupOptions {
  /** Overwrite an existing file. Default false. */
  readonly force?: boolean | undefined
}

/** The contents of a backup. */
export interface BackedUp {
  /** Path of the file as given. */
  readonly file: string
  readonly bytes: number
  readonly streams: number
  readonly events: number
  /** Number of large contents. */
  readonly blobs: number
}

/**
 * The events of a database: what every store must do. The contract, in the order of its tests (palimpsest/testing):
 *
 * 1. An append at the stream's last revision writes all its events, in order, at the next revisions; otherwise it is a `Conflict` with
 *    the actual last revision, and writes nothing. What could not be kept and returned unchanged is `InvalidInput`. The caller may
 *    change the objects of an append again as soon as its task runs.
 * 2. An append of events that are at exactly these revisions already (same ids) succeeds and writes nothing.
 * 3. Once an append has returned, its events survive the process and the machine, within the store's own durability.
 * 4. Texts come back byte for byte.
 * 5. Reading a stream that does not exist yields nothing. A read sees every append that returned before it.
 * 6. Checkpoints order all events as they were committed: a follower never misses one. A checkpoint that the store cannot have
 *    issued is `InvalidInput`.
 * 7. Blobs come back byte for byte, even if several writers put them at once, and are not events.
 * 8. Every stream to which an append has returned is listed, by name and by when it began.
 */
export interface EventLog {
  /** URL without credentials, for messages. */
  readonly url: string
  /** Appends events. `EventTooLarge` comes from a store that keeps large content outside its events (see `blobs`). */
  readonly append: (
    append: AppendRequest,
  ) => TaskEither<StoreError | EventTooLarge | InvalidInput, AppendOutcome>
  readonly read: (range: StreamRange) => TaskEither<StoreError, readonly RecordedEvent[]>
  readonly readAll: (range: AllRange) => TaskEither<StoreError | InvalidInput, AllPage>
  /** Yields existing events, then new ones as they are written. Iteration throws a `StoreError` or `InvalidInput`. */
  readonly follow: (options: FollowOptions) => AsyncIterable<FollowItem>
  readonly close: () => TaskEither<StoreError, void>
}

/** Questions that a database answers without reading all events: `indexFromEvents` answers them slowly. */
export interface StreamIndex {
  /** Looks for an event by its id, that was appended with `repeat: 'first'`, `'each'` or `'silent'`. A store may search only the newest events. */
  readonly find: (stream: string, eventId: string) => TaskEither<StoreError, FindResult>
  /**
   * Returns the number of events of this type in the stream, through that revision; undefined in a store that would have to read them
   * all.
   */
  readonly count: (
    stream: string,
    type: string,
    through: number,
  ) => TaskEither<StoreError, number | undefined>
  /** Returns what the store keeps about a stream's end; undefined if it keeps nothing or the stream does not exist. */
  readonly keptEnd: (stream: string) => TaskEither<StoreError, KeptEnd | undefined>
  /** Returns at most `limit` names of streams that begin with `prefix`, after the name `after`, in order of UTF-8 bytes. */
  readonly streams: (
    prefix: string,
    after: string,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * Returns at most `limit` names of streams that begin with one of the prefixes, most recently begun first; only streams begun before
   * the stream `before`, which may have any prefix. The cost depends on the result, not on the size of the store. May include a stream
   * that was never written.
   */
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * Returns those of these streams that certainly were never written, and so not deleted either; it may omit some if finding out would
   * cost more than a few reads. For stores in which reading a missing stream costs as much as any other read.
   */
  readonly neverBegun?: (streams: readonly string[]) => TaskEither<StoreError, ReadonlySet<string>>
  /** Returns the streams with this name prefix that were written since a checkpoint of `changed`. */
  readonly changed: (prefix: string, since: Checkpoint | undefined) => TaskEither<StoreError, StreamChanges>
}

/** Abilities that only some databases have. */
export interface StoreAbilities {
  /** Checks the database itself, apart from its events: `StoreCorrupt` says what is damaged. For stores that support it. */
  readonly integrity?: () => TaskEither<StoreError, void>
  /** Writes everything committed to another file, which can be opened as a store. For stores that are a file. */
  readonly backup?: (
    file: string,
    options: BackupOptions,
  ) => TaskEither<StoreError | InvalidInput | FileExists, BackedUp>
  /** For stores whose processes all run on one machine. */
  readonly liveness?: Liveness
}

/** All that Palimpsest asks of a store. `completeStore` makes one of a `StoreAdapter`. */
export interface EventStore extends EventLog, StreamIndex, StoreAbilities {
  readonly blobs: BlobStore
  /** Maximum bytes of data and metadata that one append accepts, for all its events together. */
  readonly maxAppendBytes: number
}

/**
 * A store of one's own: the methods of `EventLog`, and of the rest what the database does well. What is left out is made of the others:
 * the index reads all events, blobs are kept in streams, `maxAppendBytes` is `Infinity`.
 */
export interface StoreAdapter extends EventLog, Partial<StreamIndex>, StoreAbilities {
  readonly blobs?: BlobStore
  readonly maxAppendBytes?: number
}
