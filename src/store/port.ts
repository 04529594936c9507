import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StoredEvent } from '../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { FileExists, StoreError } from './errors.ts'

/** A place in the global order of a store's events. Opaque: pass on what the same store gave; everything else is `InvalidInput`. */
export type Checkpoint = string

/** What an event says of a write that takes several appends, and counts only once it is whole (ADR 13). */
export interface Part {
  /** Revision of the write's first event in this stream. */
  readonly from: number
  /** Only in its last event in this stream. `true`: the write is whole; else it is once that stream names this one. */
  readonly last?: true | string
}

/** A stored event with its place. */
export interface RecordedEvent extends StoredEvent {
  readonly stream: string
  /** 0-based index in the stream. */
  readonly revision: number
  readonly checkpoint: Checkpoint
  readonly part?: Part
}

/** Events to append to one stream. */
export interface Append {
  readonly stream: string
  /** One or more; all are written or none. */
  readonly events: readonly StoredEvent[]
  /** The stream's last revision as the writer read it; -1 if it must not exist. */
  readonly expected: number
  /** `find` may be asked for the first event, or for each. Default false: an index that nobody needs costs every append. */
  readonly findable?: boolean | 'each'
  /** Nobody else can have sent events of these ids; spares a store that cannot tell repeats a look. Default false. */
  readonly isNew?: boolean
  /** The writer need not know whether the events stood there already: the store may answer `taken`. Default false. */
  readonly isUnasked?: boolean
  /** The events belong to a write of several appends. Adapters need not know: `withWholeWrites` keeps it in the metadata. */
  readonly part?: Part
}

/**
 * What an append did. `repeated`: events with these ids stood there already, maybe with other texts (another time, another actor):
 * who goes on from there reads them first. Of two who send the same texts at once, one has written them. `taken`: one of the two; only
 * where the append is `isUnasked`.
 */
export type Appended = 'written' | 'repeated' | 'taken'

/**
 * Events of one stream to read: at most `limit` from revision `from` on, that one included, in the direction given; fewer, but at
 * least one, where their content would be too much at once.
 * Backwards from beyond the end begins at the last event.
 */
export interface Range {
  readonly stream: string
  readonly from: number
  readonly direction: 'forwards' | 'backwards'
  /** 1 to `maxPage`. */
  readonly limit: number
}

/** The most events that one read returns. */
export const maxPage = 1_000
/** How many events a reader of everything takes at once: few enough to be gone before the garbage collector promotes them. */
export const streamPage = 200

/**
 * What a store keeps of a stream besides its events: an event at the end, or near it while appends go on. Tells when the end of
 * a stream was changed or lost, which the hash chain cannot.
 */
export interface KeptEnd {
  /** Its revision. */
  readonly last: number
  /** `hashOf` it as it was appended. */
  readonly hash: string
}

/** What a look for an event has come to. */
export interface Found {
  /** Its revision; undefined if the stream has none of that id. */
  readonly revision: number | undefined
  /** The stream's last revision that was looked at, -1 if there was none: what came later may be the event. */
  readonly through: number
}

/** Events of all streams, in global order. */
export interface AllPage {
  readonly events: readonly RecordedEvent[]
  /** How far the store was looked through; where to go on from. Undefined in a store without events. */
  readonly checkpoint: Checkpoint | undefined
}

/** What was written since a checkpoint. */
export interface Changed {
  /** As of now. Undefined in a store without events, and in one that cannot tell. */
  readonly checkpoint: Checkpoint | undefined
  /** The streams; undefined where any of them may have been: there is no checkpoint, or too much was written since. */
  readonly streams: ReadonlySet<string> | undefined
}

export interface AllRange {
  /** Only streams whose name begins with one of these. Default: all. */
  readonly prefixes?: readonly string[]
  /** Events behind this place; without one from the first event on. */
  readonly after?: Checkpoint | undefined
  /** 1 to `maxPage`. */
  readonly limit: number
}

export interface FollowOptions extends Omit<AllRange, 'limit'> {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal
}

/** What a follower gets: an event, or how far the store has been looked through without one. */
export type Followed =
  | { readonly type: 'event'; readonly event: RecordedEvent; readonly checkpoint: Checkpoint }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }

/** Content that stands outside the events that refer to it: bytes under their SHA-256 (hex), each kept once. */
export interface Blobs {
  /**
   * Keeps the chunks, in order, under the hash of them all, unless they are there; then only their time is new. All are kept, or
   * none. A chunk is at most `blobChunk` bytes, and the store's own from then on. The chunks may be iterated more than once.
   */
  readonly put: (sha256: string, chunks: Iterable<Uint8Array>) => TaskEither<StoreError, void>
  /** The bytes in order, in pieces of any size; no piece if there is no such blob. Not checked. Iteration throws a `StoreError`. */
  readonly get: (sha256: string) => AsyncIterable<Uint8Array>
  /** In any order. Iteration throws a `StoreError`. */
  readonly list: () => AsyncIterable<BlobInfo>
  /** Removes it, unless it was put since that time. */
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

export interface BackupOptions {
  /** Overwrite a file that is there. Default false. */
  readonly force?: boolean
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
 * What Palimpsest asks of a database. The contract, in the order of its tests (test/contract):
 *
 * 1. An append at the stream's last revision writes all its events, in order, at the revisions that follow; else it is a
 *    `Conflict` with the actual last revision, and writes nothing.
 *    What could not be kept, or not given back the same, is `InvalidInput`. The objects of an append are the caller's again as
 *    soon as its task runs.
 * 2. An append of events that stand at exactly these revisions already (same ids) succeeds and writes nothing.
 * 3. When an append has returned, its events survive the process and the machine, as far as the store is durable at all.
 * 4. Texts come back as they were written, to the byte.
 * 5. A read of a stream that is not there is empty. Reads see every append that returned before them.
 * 6. Checkpoints order all events as they were committed: a follower never misses one. A checkpoint that the store can't have
 *    given is `InvalidInput`.
 * 7. Blobs come back to the byte, whoever puts them at once, and are no events.
 * 8. Every stream that an append has returned for is listed, under its name and by when it began.
 */
export interface EventStore {
  /** URL without credentials, for messages. */
  readonly url: string
  /** `EventTooLarge` is that of a store that keeps large content outside its events (see `blobs`). */
  readonly append: (append: Append) => TaskEither<StoreError | EventTooLarge | InvalidInput, Appended>
  readonly read: (range: Range) => TaskEither<StoreError, readonly RecordedEvent[]>
  /** Looks for an event that was appended as `findable`, by its id. Stores may look back a bounded way. */
  readonly find: (stream: string, eventId: string) => TaskEither<StoreError, Found>
  /**
   * How many events of this type the stream has up to a revision, that one included; undefined in a store that would have to read them
   * all.
   */
  readonly count: (
    stream: string,
    type: string,
    through: number,
  ) => TaskEither<StoreError, number | undefined>
  /** What the store keeps of a stream; undefined if it keeps nothing, or there is no such stream. */
  readonly keptEnd: (stream: string) => TaskEither<StoreError, KeptEnd | undefined>
  /** At most `limit` names of streams that begin with `prefix`, behind the name `after`, in order of UTF-8 bytes. */
  readonly streams: (
    prefix: string,
    after: string,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /**
   * At most `limit` names of streams that begin with `prefix`, in the order in which they began, the newest first; those older than the
   * stream `before`. Costs what it answers, not what the store holds. A name may come of a stream that was never written.
   */
  readonly newest: (
    prefix: string,
    before: string | undefined,
    limit: number,
  ) => TaskEither<StoreError, readonly string[]>
  /** Which streams whose names begin with a prefix were written since a checkpoint of `changed`. */
  readonly changed: (prefix: string, since: Checkpoint | undefined) => TaskEither<StoreError, Changed>
  readonly readAll: (range: AllRange) => TaskEither<StoreError | InvalidInput, AllPage>
  /** What is there, then what comes. Iteration throws a `StoreError`, or `InvalidInput`. */
  readonly follow: (options: FollowOptions) => AsyncIterable<Followed>
  readonly blobs: Blobs
  /**
   * Whether the database itself is whole, apart from what its events say: `StoreCorrupt` tells what is damaged. For stores that can
   * tell.
   */
  readonly integrity?: () => TaskEither<StoreError, void>
  /** Writes all that is committed into another file, which can be opened as a store. For stores that are a file. */
  readonly backup?: (
    file: string,
    options: BackupOptions,
  ) => TaskEither<StoreError | InvalidInput | FileExists, BackedUp>
  /** The most bytes of data and metadata, all events together, that one append takes. */
  readonly maxAppendBytes: number
  readonly close: () => TaskEither<StoreError, void>
}
