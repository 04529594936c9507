import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'

/** An event as a writer proposes it. */
export interface Proposed {
  readonly id: string
  readonly type: string
  readonly isJson: boolean
  readonly data: Uint8Array
  /** The custom metadata; empty if there is none. */
  readonly metadata: Uint8Array
}

export interface Recorded extends Proposed {
  readonly stream: string
  /** 0-based; of a tombstone `tombstoneRevision`. */
  readonly revision: number
  /** In $all: strictly increasing, with gaps. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly created: number
}

export type Expected = number | 'any' | 'stream_exists'
export const noStream = -1
/** 2^63 - 1 on a real server, as the revision of a tombstone and as `$tb` of a deleted stream; a float has it rounded. */
export const tombstoneRevision = 2 ** 63

export type Outcome =
  /** Also for a repeated append: then the place of what was written the first time. */
  | { readonly type: 'written'; readonly revision: number; readonly position: number | undefined }
  | { readonly type: 'wrong-expected-version'; readonly current: number }
  | { readonly type: 'stream-deleted' }

export interface Range<From> {
  /** Included. */
  readonly from: From | 'start' | 'end'
  readonly backwards: boolean
  readonly count: number
}

interface Limits {
  readonly $maxCount?: number
  readonly $maxAge?: number
  readonly $tb?: number
}
interface Stream {
  readonly events: Recorded[]
  isTombstoned: boolean
  limits: Limits
}

/** How many of the last event ids are known when an append names no revision; a real server has a cache of 8 MB. */
export const recentIds = 4_096
const recordOverhead = 120
const none = new Uint8Array()
const isMetastream = (stream: string): boolean => stream.startsWith('$$')

const limitsIn = (metadata: Uint8Array): Limits => {
  try {
    return (JSON.parse(Buffer.from(metadata).toString()) as Limits | null) ?? {}
  } catch {
    return {}
  }
}

/** The database: one sequence of all events, and the streams in it. It lives as long as the process. */
export class Log {
  readonly all: Recorded[] = []
  /** Emits `change` after every write. */
  readonly changes = new EventEmitter().setMaxListeners(0)
  readonly #streams = new Map<string, Stream>()
  readonly #recent = new Map<string, Recorded>()
  readonly #now: () => number
  #position = 1_024

  constructor(now: () => number) {
    this.#now = now
    // A real server has written something of its own before the first client comes.
    this.#writeMetadata('$$$scavenges', { $maxAge: 2_592_000 })
  }

  /** Writes without asking for a revision or for repeated ids. */
  write(stream: string, events: Iterable<Proposed>): Recorded | undefined {
    const { events: recorded } = this.#stream(stream)
    let last: Recorded | undefined
    for (const event of events) {
      last = this.#record(stream, recorded.length, event)
      recorded.push(last)
    }
    if (last && isMetastream(stream)) this.#stream(stream.slice(2)).limits = limitsIn(last.data)
    this.changes.emit('change')
    return last
  }

  append(name: string, expected: Expected, events: readonly Proposed[]): Outcome {
    const verdict = this.#check(name, expected, events)
    if (verdict !== 'write') return verdict
    const { events: recorded } = this.#stream(name)
    // A deleted stream comes back without what it held before.
    if (this.#isSoftDeleted(name))
      this.#writeMetadata(`$$${name}`, { ...this.#stream(name).limits, $tb: recorded.length })
    const last = this.write(name, events)
    return { type: 'written', revision: recorded.length - 1, position: last?.position }
  }

  delete(name: string, expected: Expected): Outcome {
    const verdict = this.#check(name, expected, [])
    if (verdict !== 'write') return verdict
    const { limits, events } = this.#stream(name)
    const { position } = this.#writeMetadata(`$$${name}`, { ...limits, $tb: tombstoneRevision })
    return { type: 'written', revision: events.length - 1, position }
  }

  tombstone(name: string, expected: Expected): Outcome {
    const verdict = this.#check(name, expected, [])
    if (verdict !== 'write') return verdict
    const event = { id: randomUUID(), type: '$streamDeleted', isJson: true, data: none, metadata: none }
    const { position } = this.#record(name, tombstoneRevision, event)
    this.#stream(name).isTombstoned = true
    this.changes.emit('change')
    return { type: 'written', revision: tombstoneRevision, position }
  }

  state(name: string): 'found' | 'stream-not-found' | 'stream-deleted' {
    const stream = this.#streams.get(name)
    if (stream?.isTombstoned) return 'stream-deleted'
    return stream && stream.events.length > 0 && !this.#isSoftDeleted(name) ? 'found' : 'stream-not-found'
  }

  /** The events of a stream from the first, also those that are no longer shown; grows with the stream. */
  eventsOf(name: string): readonly Recorded[] {
    return this.#stream(name).events
  }

  /** The revision of the first event that `$maxCount` and `$tb` still show. */
  firstShown(name: string): number {
    const { events, limits } = this.#stream(name)
    const maxCount = isMetastream(name) ? 1 : (limits.$maxCount ?? Infinity)
    return Math.max(limits.$tb ?? 0, events.length - maxCount)
  }

  /** Whether `$maxAge` still shows it. */
  isFresh({ stream, created }: Recorded): boolean {
    const { $maxAge = Infinity } = this.#streams.get(stream)?.limits ?? {}
    return created >= this.#now() - $maxAge * 1_000
  }

  *readStream(name: string, { from, backwards, count }: Range<number>): Generator<Recorded> {
    const events = this.eventsOf(name)
    const first = this.firstShown(name)
    const last = events.length - 1
    const wanted = from === 'start' ? 0 : from === 'end' ? events.length : from
    const start = backwards ? Math.min(wanted, last) : Math.max(wanted, first)
    let left = count
    for (let revision = start; left > 0 && revision >= first; revision += backwards ? -1 : 1) {
      const event = events[revision]
      if (!event) return
      if (!this.isFresh(event)) continue
      left--
      yield event
    }
  }

  /** Forwards from a position on; backwards from the last event before it. */
  *readAll(range: Range<number>): Generator<Recorded> {
    const { from, backwards } = range
    const at = from === 'start' ? 0 : from === 'end' ? this.all.length : this.indexAt(from)
    let left = range.count
    for (let index = backwards ? at - 1 : at; left > 0; index += backwards ? -1 : 1) {
      const event = this.all[index]
      if (!event) return
      left--
      yield event
    }
  }

  /** The index in `all` of the first event at a position or behind it. */
  indexAt(position: number): number {
    let low = 0
    let high = this.all.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.all[middle]?.position ?? Infinity) < position) low = middle + 1
      else high = middle
    }
    return low
  }

  #stream(name: string): Stream {
    let stream = this.#streams.get(name)
    if (!stream) this.#streams.set(name, (stream = { events: [], isTombstoned: false, limits: {} }))
    return stream
  }

  #isSoftDeleted(name: string): boolean {
    return this.#streams.get(name)?.limits.$tb === tombstoneRevision
  }

  #record(stream: string, revision: number, event: Proposed): Recorded {
    const { id, type, isJson, data, metadata } = event
    const position = this.#position
    this.#position += data.length + metadata.length + stream.length + recordOverhead
    const created = this.#now()
    const recorded = { id, type, isJson, data, metadata, stream, revision, position, created }
    this.all.push(recorded)
    this.#recent.set(id, recorded)
    const old = this.all[this.all.length - 1 - recentIds]
    if (old && this.#recent.get(old.id) === old) this.#recent.delete(old.id)
    return recorded
  }

  #writeMetadata(metastream: string, limits: Limits): Recorded {
    // JSON.stringify would write the float; a real server writes the integer.
    const json = JSON.stringify(limits).replace(String(tombstoneRevision), String(2n ** 63n - 1n))
    const event = { id: randomUUID(), type: '$metadata', isJson: true, data: Buffer.from(json) }
    const written = this.write(metastream, [{ ...event, metadata: none }])
    if (!written) throw new Error('the metadata was not written')
    return written
  }

  /** As CheckCommit of a real server decides (EventStore.Core, ReaderIndex/IndexWriter.cs). */
  #check(name: string, expected: Expected, events: readonly Proposed[]): Outcome | 'write' {
    const stream = this.#stream(name)
    const current = stream.events.length - 1
    const wrong: Outcome = { type: 'wrong-expected-version', current }
    if (stream.isTombstoned) return { type: 'stream-deleted' }
    if (expected === 'stream_exists') {
      if (this.#isSoftDeleted(name)) return { type: 'stream-deleted' }
      if (current === noStream && this.eventsOf(`$$${name}`).length === 0) return wrong
    }
    if (typeof expected === 'number' && expected > current) return wrong
    if (expected === current) return 'write'
    const before =
      typeof expected === 'number'
        ? events.map(({ id }, index) => this.#sameId(stream.events[expected + 1 + index], id))
        : events.map(({ id }) => this.#inStream(this.#recent.get(id), name))
    const unknown = before.indexOf(undefined)
    const written = before.at(-1)
    if (unknown < 0 && written)
      return { type: 'written', revision: written.revision, position: written.position }
    if (unknown > 0) return wrong
    if (typeof expected !== 'number') return 'write'
    return expected === noStream && this.#isSoftDeleted(name) && events.length > 0 ? 'write' : wrong
  }

  #sameId(event: Recorded | undefined, id: string): Recorded | undefined {
    return event?.id === id ? event : undefined
  }

  #inStream(event: Recorded | undefined, name: string): Recorded | undefined {
    return event?.stream === name ? event : undefined
  }
}
