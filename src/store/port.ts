import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { FileExists, StoreError } from './errors.ts'

/** A place in the global order of a store's events. Opaque: only what the same store issued is valid; anything else is `InvalidInput`. */
export type Checkpoint = string

/** An event's share in a write of several appends, which counts only once it is complete (ADR 13). */
export interface WritePart {
  /** Revision of the write's first event in this stream. */
  readonly from: number
  /** Only in the write's last event in this stream. `true`: it is complete; a name: it is complete once that stream names this one. */
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
  /** One or more; all are written or none. */
  readonly events: readonly StoredEvent[]
  /** The stream's last revision as the writer read it; -1 if it must not exist. */
  readonly expected: number
  /**
   * Repeats of this append that must be noticed. `'none'`: nobody else can have sent events with these ids, so the store need not look for
   * a repeat. `'first'`: a later repeat looks for the first event with `find`. `'each'`: it may look for each. `'silent'`: as `'first'`,
   * and the writer accepts `taken`. Default: a repeat at the same revisions is noticed, and `find` need not find the events, because its
   * index slows every append.
   */
  readonly repeat?: 'none' | 'first' | 'each' | 'silent'
  /** The events belong to a write of several appends. Adapters ignore this: `withWholeWrites` keeps it in the metadata. */
  readonly part?: WritePart
}

/**
 * What an append did. `repeated`: events with these ids were there already, maybe with other texts (another time, another actor), so
 * read them before you append to them. If two send the same texts at once, one has written them. `taken`: one of the two; only if the
 * append is `silent`.
 */
export type AppendOutcome = 'written' | 'repeated' | 'taken'

/**
 * Events of one stream to read: at most `limit`, starting with revision `from`, in the direction given; fewer, but at least one, if
 * their data are more than `largePage`. A backward read from beyond the end starts with the last event.
 */
export interface StreamRange {
  readonly stream: string
  readonly from: number
  readonly direction: 'forwards' | 'backwards'
  /** 1 to `maxPage`. */
  readonly limit: number
}

/** The most events that one read returns. */
export const maxPage = 1_000
/** Events that a reader of everything takes at a time: few enough to die before the garbage collector promotes them. */
export const streamPage = 200
/** A page of more data than this, in characters, may have fewer events than were asked for. */
export const largePage = 64 * 1024

/**
 * What a store keeps of a stream besides its events: an event at the end, or near it while it is written to. It reveals that the end
 * of a stream was changed or lost, which the hash chain cannot.
 */
export interface KeptEnd {
  /** Its revision. */
  readonly last: number
  /** `hashOf` it as it was appended. */
  readonly hash: string
}

/** The outcome of `find`. */
export interface FindResult {
  /** The event's revision; undefined if the stream has no event of that id. */
  readonly revision: number | undefined
  /** The last revision that was searched, -1 if there was none: the event may be among later ones. */
  readonly through: number
}

/** Events of all streams, in global order. */
export interface AllPage {
  readonly events: readonly RecordedEvent[]
  /** How far the store was searched: continue from here. Undefined in a store without events. */
  readonly checkpoint: Checkpoint | undefined
  /**
   * Nothing came after it when it was read: who wants what is there needs no further page. Where a store does not say so, a page without
   * events that is no further than the one before does: while others write, that may take as long as they do.
   */
  readonly isEnd?: boolean | undefined
}

/** What was written since a checkpoint. */
export interface StreamChanges {
  /** As of now. Undefined in a store without events, and in one that does not know. */
  readonly checkpoint: Checkpoint | undefined
  /** The streams; undefined if it may be any: there is no checkpoint, or too much was written since. */
  readonly streams: ReadonlySet<string> | undefined
}

export interface AllRange {
  /** Only streams whose name begins with one of these. Default: all. */
  readonly prefixes?: readonly string[] | undefined
  /** Events after this place; without one, from the first event on. */
  readonly after?: Checkpoint | undefined
  /** 1 to `maxPage`. */
  readonly limit: number
}

export interface FollowOptions extends Omit<AllRange, 'limit'> {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined
  /**
   * Throw when the connection to the store breaks, for followers that have to know how old their knowledge is. Default: the store resumes
   * from where it was. A store without a connection ignores it.
   */
  readonly untilBroken?: boolean | undefined
}

/** What a follower gets: an event, or how far the store was searched without finding one. */
export type FollowItem =
  | { readonly type: 'event'; readonly event: RecordedEvent; readonly checkpoint: Checkpoint }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** Content stored outside the events that refer to it: bytes under their SHA-256 (hex), each kept once. */
export interface BlobStore {
  /**
   * Keeps the chunks, in order, under the hash of them all; if they are there already, only updates their time. All are kept or
   * none. A chunk is at most `blobChunk` bytes, and belongs to the store from then on. The chunks may be iterated more than once.
   */
  readonly put: (sha256: string, chunks: Iterable<Uint8Array>) => TaskEither<StoreError, void>
  /** The bytes in order, in pieces of any size; none if there is no such blob. Not verified. Iteration throws a `StoreError`. */
  readonly get: (sha256: string) => AsyncIterable<Uint8Array>
  /** In any order. Iteration throws a `StoreError`. */
  readonly list: () => AsyncIterable<BlobInfo>
  /** Removes the blob, unless it was put after that time. */
  readonly remove: (sha256: string, before: Date) => TaskEither<StoreError, void>
}

export interface BlobInfo {
  readonly sha256: string
  readonly bytes: number
  /** When it was last put. */
  readonly time: Date
}

/** The most bytes of a chunk: half of what one append call of EventStoreDB takes. */
export const blobChunk = 512 * 1024

/** Which of those who work on a store live, as the operating system knows it: without clocks. */
export interface Liveness {
  /**
   * Holds a name that nobody has had until `release`, or until this process ends, however it does.
   *
   * @returns `release`, after which nobody knows the name; undefined if names cannot be held here
   */
  readonly hold: (name: string) => (() => void) | undefined
  /** Holds a name whose process has ended without releasing it. Undefined if it is held, if nobody knows it, and if it is not certain. */
  readonly inherit: (name: string) => (() => void) | undefined
  /** Names that were held and have not been released. */
  readonly names: () => readonly string[]
}

export interface BackupOptions {
  /** Overwrite an existing file. Default false. */
  readonly force?: boolean | undefined
}

/** What a backup holds. */
export interface BackedUp {
  /** As it was named. */
  readonly file: string
  readonly bytes: number
  readonly streams: number
  readonly events: number
  /** Large contents. */
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
  /** `EventTooLarge` comes from a store that keeps large content outside its events (see `blobs`). */
  readonly append: (
    append: AppendRequest,
  ) => TaskEither<StoreError | EventTooLarge | InvalidInput, AppendOutcome>
  readonly read: (range: StreamRange) => TaskEither<StoreError, readonly RecordedEvent[]>
  readonly readAll: (range: AllRange) => TaskEither<StoreError | InvalidInput, AllPage>
  /** Existing events, then new ones as they are written. Iteration throws a `StoreError` or `InvalidInput`. */
  readonly follow: (options: FollowOptions) => AsyncIterable<FollowItem>
  readonly close: () => TaskEither<StoreError, void>
}

/** Questions that a database answers without reading all events: `indexFromEvents` answers them slowly. */
export interface StreamIndex {
  /** Looks for an event by its id, that was appended with `repeat: 'first'`, `'each'` or `'silent'`. A store may search only the newest events. */
  readonly find: (stream: string, eventId: string) => TaskEither<StoreError, FindResult>
  /**
   * How many events of this type the stream has, through that revision; undefined in a store that would have to read them all.
   */
  readonly count: (
    stream: string,
    type: string,
    through: number,
  ) => TaskEither<StoreError, number | undefined>
  /** What the store keeps of a stream's end; undefined if it keeps nothing, or there is no such stream. */
  readonly keptEnd: (stream: string) => TaskEither<StoreError, KeptEnd | undefined>
  /** At most `limit` names of streams that begin with `prefix`, after the name `after`, in order of UTF-8 bytes. */
  readonly streams: (
    prefix: string,
    after: string,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * At most `limit` names of streams that begin with one of the prefixes, the stream that was begun last first; those older than the
   * stream `before`, whatever that begins with. The cost depends on the answer, not on the size of the store. May name a stream that
   * was never written.
   */
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * Those of these streams that certainly were never written, and so were not deleted either; fewer, or none, where telling costs more
   * than a few reads. For stores in which a read of a stream that is not there costs as much as any.
   */
  readonly neverBegun?: (streams: readonly string[]) => TaskEither<StoreError, ReadonlySet<string>>
  /** Which streams whose names begin with a prefix were written since a checkpoint of `changed`. */
  readonly changed: (prefix: string, since: Checkpoint | undefined) => TaskEither<StoreError, StreamChanges>
}

/** Abilities that only some databases have. */
export interface StoreAbilities {
  /**
   * Checks the database itself, apart from its events: `StoreCorrupt` says what is damaged. For stores that can.
   */
  readonly integrity?: () => TaskEither<StoreError, void>
  /** Writes everything committed into another file, which can be opened as a store. For stores that are a file. */
  readonly backup?: (
    file: string,
    options: BackupOptions,
  ) => TaskEither<StoreError | InvalidInput | FileExists, BackedUp>
  /** For stores whose processes are all on one machine. */
  readonly liveness?: Liveness
}

/** All that Palimpsest asks of a store. `completeStore` makes one of a `StoreAdapter`. */
export interface EventStore extends EventLog, StreamIndex, StoreAbilities {
  readonly blobs: BlobStore
  /** The most bytes of data and metadata that one append accepts, all its events together. */
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
