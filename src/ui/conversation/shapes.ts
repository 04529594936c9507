import type { Entry, Item, Repair } from '../../core.ts'
import type { Cut } from '../blocks/cut.ts'

// What the API answers about one conversation (src/server/shapes.ts says it as schemas).

/** The events without their content, in columns: the element at index i is of position `from` + i. */
export interface Outline {
  readonly from: number
  readonly to: number
  /** The last position of the conversation. */
  readonly last: number
  /** The last position that the answer knows of. */
  readonly indexed?: number | undefined
  readonly next?: number | undefined
  /** A letter each (`kinds` of words.ts). */
  readonly kinds: string
  /** Bytes. */
  readonly sizes: readonly number[]
  /** Of the context right after each event. */
  readonly tokens: readonly number[]
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly markers: readonly Marker[]
  readonly rewinds: readonly Rewind[]
  readonly restores: readonly Restore[]
  /** Positions of replies with a receipt. */
  readonly calls: readonly number[]
}
export interface Marker {
  readonly position: number
  readonly kind: 'condensed' | 'truncated'
  readonly first: number
  readonly last: number
  /** Messages, at all levels. */
  readonly hidden: number
  /** Tokens. */
  readonly before: number
  readonly after: number
  readonly method?: string | undefined
}
export interface Rewind {
  readonly position: number
  readonly to: number
}
export interface Restore {
  readonly position: number
  readonly marker: number
}

/** A long conversation in parts, in columns. */
export interface Overview {
  readonly last: number
  readonly buckets: number
  readonly first: readonly number[]
  /** Tokens. */
  readonly min: readonly number[]
  readonly max: readonly number[]
  /** How many. */
  readonly markers: readonly number[]
  readonly rewinds: readonly number[]
}

/** What a marker hides, at all levels. */
export interface Hidden {
  readonly marker: number
  readonly messages: number
  readonly tools: readonly (readonly [name: string, calls: number])[]
}

type Clipped<T> = T & { readonly cuts?: readonly Cut[] }
export type ShownItem = Clipped<Item>
export type ShownEntry = Clipped<Entry>

export interface Effective {
  readonly at: number
  readonly total: number
  readonly next?: number | undefined
  readonly items: readonly ShownItem[]
  readonly repairs?: readonly Repair[] | undefined
}
export interface Full {
  readonly at: number
  readonly items: readonly ShownEntry[]
}
