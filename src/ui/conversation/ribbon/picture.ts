import type { Paths } from '../path.ts'
import type { OutlineResponse } from '../../source/answers.ts'
import type { Colours } from './colours.ts'
import type { Scale } from './scale.ts'

// The ribbon, from top to bottom: brackets over the slices of markers, crosses of errors, bars of events on the path, bars of abandoned events with the
// arrows of the rewinds and long pauses, the curve of context tokens, and the time.

/** Heights and gaps of the ribbon's rows, in CSS pixels. */
export const layout = {
  brackets: 16,
  errors: 10,
  bars: 24,
  lane: 18,
  gap: 8,
  curve: 40,
  axis: 16,
  height: 132,
} as const
/** Lower edge of the bars on the path (`base`) and upper edge of the curve (`curveTop`), in CSS pixels. */
export const base = layout.brackets + layout.errors + layout.bars
export const curveTop = base + layout.lane + layout.gap

export interface Picture {
  readonly outline: OutlineResponse
  readonly paths: Paths
  readonly scale: Scale
  readonly width: number
  readonly colours: Colours
  /** Number of context tokens at which the conversation is condensed; undefined if unknown. */
  readonly limit?: number | undefined
}

export type Context = CanvasRenderingContext2D
