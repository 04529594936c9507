import type { EventKind } from '../projections/columns.ts'
import type { TokenMeter } from './meter.ts'

/** Properties of successive events, with one column for each property. */
export interface Columns {
  readonly kinds: EventKind[]
  /** For each event, the sum of its `flags`. */
  readonly flags: number[]
  /** Size of each event's data as JSON, in bytes. */
  readonly sizes: number[]
  /** Tokens that each message adds to the context. `tokens`, by contrast, are those of the whole context right after each event. */
  readonly own: number[]
  /** Estimated tokens of each message, and tokens of the input that a reply with a usage reports. */
  readonly estimated: number[]
  readonly input: number[]
  readonly tokens: number[]
  /** Time of each event, in milliseconds since 1970. */
  readonly times: number[]
  /** Names of the tools that an event calls, by the event's index; only events with calls have an entry. */
  readonly tools: Map<number, readonly string[]>
  /** Meter before the first event (meter.ts). */
  readonly meter: TokenMeter
}

/**
 * Flags of an event, one bit each. `call`: it is a reply with a receipt; `failed`: it records an error; `reply`: it is a reply of a model,
 * with a receipt or without; `retry`: it repeats a tool call that failed. The others describe a message (`MessageTokens`).
 */
export const flags = {
  call: 1,
  failed: 2,
  unfinished: 4,
  invalid: 8,
  thinks: 16,
  part: 32,
  reply: 64,
  retry: 128,
} as const

/** Number of events in a chunk, the unit in which columns are stored. */
export const chunkLength = 512

export const noColumns = (meter: TokenMeter): Columns => ({
  meter,
  kinds: [],
  flags: [],
  sizes: [],
  own: [],
  estimated: [],
  input: [],
  tokens: [],
  times: [],
  tools: new Map(),
})

/**
 * Encodes columns: times first, because their elements are the widest; flags and kinds last. Uses the machine's byte order, because the file is
 * never moved to another machine.
 */
export const encodeColumns = (columns: Columns): Uint8Array => {
  const { kinds, flags: marked, sizes, own, tokens, times, estimated, input } = columns
  const count = kinds.length
  const bytes = new Uint8Array(count * eventBytes)
  new Float64Array(bytes.buffer, 0, count).set(times)
  for (const [index, column] of [sizes, own, tokens, estimated, input].entries())
    new Int32Array(bytes.buffer, count * (8 + 4 * index), count).set(column)
  bytes.set(marked, count * 28)
  for (const [index, kind] of kinds.entries()) bytes[count * 29 + index] = kind.charCodeAt(0)
  return bytes
}
const eventBytes = 30

/** Stored columns, read without copying. The index of an element is the index of the event in its chunk. */
export interface StoredColumns {
  readonly count: number
  readonly sizes: Int32Array
  readonly own: Int32Array
  readonly tokens: Int32Array
  readonly estimated: Int32Array
  readonly input: Int32Array
  readonly times: Float64Array
  readonly flags: Uint8Array
  /** Character codes of the events' kinds. */
  readonly letters: Uint8Array
  readonly kindAt: (index: number) => EventKind
  readonly isCallAt: (index: number) => boolean
  readonly isFailedAt: (index: number) => boolean
  readonly isReplyAt: (index: number) => boolean
}

export const decodeColumns = (stored: Uint8Array): StoredColumns => {
  // A copy has a buffer of its own, in which each column is aligned.
  const { buffer } = stored.byteOffset === 0 ? stored : new Uint8Array(stored)
  const count = stored.byteLength / eventBytes
  const whole = (index: number): Int32Array => new Int32Array(buffer, count * (8 + 4 * index), count)
  const marked = new Uint8Array(buffer, count * 28, count)
  const letters = new Uint8Array(buffer, count * 29, count)
  const hasAt = (flag: number) => (index: number) => ((marked[index] ?? 0) & flag) > 0
  return {
    count,
    sizes: whole(0),
    own: whole(1),
    tokens: whole(2),
    estimated: whole(3),
    input: whole(4),
    times: new Float64Array(buffer, 0, count),
    flags: marked,
    letters,
    kindAt: (index) => String.fromCharCode(letters[index] ?? 0) as EventKind,
    isCallAt: hasAt(flags.call),
    isFailedAt: hasAt(flags.failed),
    isReplyAt: hasAt(flags.reply),
  }
}

export type ToolsAt = Columns['tools']
export const decodeTools = (tools: string): ToolsAt => new Map(JSON.parse(tools) as [number, string[]][])

/** Copies stored columns to arrays, so that more events can be added. */
export const continueColumns = (stored: StoredColumns, tools: ToolsAt, meter: TokenMeter): Columns => {
  const indices = Array.from({ length: stored.count }, (_, index) => index)
  return {
    meter,
    kinds: indices.map(stored.kindAt),
    flags: Array.from(stored.flags),
    sizes: Array.from(stored.sizes),
    own: Array.from(stored.own),
    estimated: Array.from(stored.estimated),
    input: Array.from(stored.input),
    tokens: Array.from(stored.tokens),
    times: Array.from(stored.times),
    tools,
  }
}

export const encodeTools = ({ tools }: Columns): string => JSON.stringify([...tools])
