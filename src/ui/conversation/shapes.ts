import type { BucketColumns, Entry, Item, MarkerOutline, OutlineColumns, Repair } from '../../core.ts'
import type { ClippedString } from '../blocks/cut.ts'

// What the API answers about one conversation (src/server/shapes says it as schemas).

/** The events without their content, in columns. */
export interface OutlineResponse extends OutlineColumns {
  /** The last position of the conversation. */
  readonly last: number
  /** The last position that the answer knows of. */
  readonly indexed?: number | undefined
  /** What keeps the index from continuing. */
  readonly problem?: string | undefined
  readonly next?: number | undefined
}
export type Marker = MarkerOutline
export type OutlineRewind = OutlineColumns['rewinds'][number]
export type Restore = OutlineColumns['restores'][number]

/** A long conversation in parts, in columns. */
export interface OverviewResponse extends BucketColumns {
  readonly last: number
}

type Clipped<T> = T & { readonly cuts?: readonly ClippedString[] }
export type ClippedItem = Clipped<Item>
export type ShownEntry = Clipped<Entry>

export interface EffectiveResponse {
  readonly at: number
  readonly total: number
  readonly next?: number | undefined
  readonly items: readonly ClippedItem[]
  readonly repairs?: readonly Repair[] | undefined
}
export interface Full {
  readonly at: number
  readonly items: readonly ShownEntry[]
}
