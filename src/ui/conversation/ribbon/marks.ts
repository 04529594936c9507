import { firstOf } from '../markers.ts'
import { within } from '../path.ts'
import type { OutlineResponse } from '../../source/answers.ts'
import { base, type Context, layout, type Picture } from './picture.ts'

/**
 * Returns a key for the markers and rewinds at or before a position. The ribbon draws them the same way at all positions with the same
 * key.
 */
export const pastMarksKey = ({ markers, rewinds }: OutlineResponse, at: number): string =>
  [markers, rewinds].map((marks) => marks.filter(({ position }) => position <= at).length).join(' ')

/** Draws an arrow below the bars from each rewind back to its target. */
export const drawRewinds = (context: Context, { outline, scale, colours }: Picture, at: number): void => {
  context.lineWidth = 1
  for (const { position, to } of outline.rewinds) {
    if (position < scale.first || to > scale.last) continue
    const right = scale.x(position) + scale.step / 2
    const left = scale.x(Math.max(to, scale.first - 1)) + scale.step / 2
    context.globalAlpha = position > at ? 0.35 : 1
    context.strokeStyle = position > at ? colours['line-2'] : colours.rewound
    const bottom = base + layout.lane
    const radius = Math.min(5, Math.max(1, (right - left) / 2))
    context.beginPath()
    context.moveTo(right, base + 12)
    context.arcTo(right, bottom, right - radius, bottom, radius)
    context.arcTo(left, bottom, left, base + 3, radius)
    context.lineTo(left, base + 3)
    context.stroke()
    context.beginPath()
    context.moveTo(left - 2.5, base + 6)
    context.lineTo(left, base + 2)
    context.lineTo(left + 2.5, base + 6)
    context.stroke()
  }
  context.globalAlpha = 1
}

/**
 * Draws a bracket over the slice of each marker within the ribbon's range. Highlights the last marker on the path at a position, and
 * draws its bracket even if the marker is outside the range.
 */
export const drawBrackets = (
  context: Context,
  { outline, paths, scale, colours }: Picture,
  at: number,
): void => {
  const byPosition = new Map(outline.markers.map((marker) => [marker.position, marker]))
  const path = paths.stretches(at)
  const inForce = outline.markers.findLast(
    ({ position }) => position <= at && within(path, [{ from: position, to: position }]).length > 0,
  )
  context.lineWidth = 1.5
  for (const marker of outline.markers) {
    const { position, kind, last } = marker
    const isInForce = marker === inForce
    if (!isInForce && (position < scale.first || position > scale.last)) continue
    const first = firstOf(marker, byPosition)
    const left = Math.max(0, scale.x(Math.max(first, scale.first)))
    const right = scale.x(Math.min(scale.last, Math.max(last, first)) + 1) - 1
    const colour =
      position > at ? colours['line-2'] : kind === 'condensed' ? colours.condensed : colours.truncated
    context.globalAlpha = isInForce ? 1 : 0.4
    context.strokeStyle = colour
    context.fillStyle = colour
    const top = isInForce ? 3.5 : 8.5
    context.beginPath()
    if (first >= scale.first) context.moveTo(left + 0.75, layout.brackets - 3)
    context.lineTo(left + 0.75, top)
    context.lineTo(right, top)
    context.lineTo(right, layout.brackets - 3)
    context.stroke()
    if (position >= scale.first && position <= scale.last) {
      const x = scale.x(position) + scale.step / 2
      context.beginPath()
      context.moveTo(x - 4, top - 2.5)
      context.lineTo(x + 4, top - 2.5)
      context.lineTo(x, top + 4)
      context.fill()
    }
  }
  context.globalAlpha = 1
}

export const drawHits = (context: Context, { scale, colours }: Picture, hits: readonly number[]): void => {
  context.fillStyle = colours.ink
  for (const hit of hits)
    if (hit >= scale.first && hit <= scale.last)
      context.fillRect(scale.x(hit) + scale.step / 2 - 1, layout.brackets - 5, 2.5, 4)
}
