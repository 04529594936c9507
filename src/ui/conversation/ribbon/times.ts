import { clock, duration } from '../../words.ts'
import { base, type Context, layout, type Picture } from './picture.ts'

/** Minimum pause between two events that is shown, in milliseconds. */
const longPause = 150_000
/** Minimum distances between the labels of times, and of pauses, in CSS pixels. */
const apart = { time: 110, pause: 56 } as const

/** Draws a cross over each event that records an error. Crosses that would touch are drawn once. */
export const drawErrors = (context: Context, { outline, scale }: Picture, colour: string): void => {
  const y = layout.brackets + layout.errors / 2 - 1
  let last = -Infinity
  context.strokeStyle = colour
  context.lineWidth = 1.5
  context.beginPath()
  for (const position of outline.failed) {
    if (position < scale.first || position > scale.last) continue
    const x = scale.x(position) + scale.step / 2
    if (x - last < 3) continue
    last = x
    for (const [from, to] of [
      [-2.5, 2.5],
      [2.5, -2.5],
    ] as const) {
      context.moveTo(x + from, y - 2.5)
      context.lineTo(x + to, y + 2.5)
    }
  }
  context.stroke()
}

/** Draws a ring over each reply that is a retry. Rings that would touch are drawn once. */
export const drawRetries = (context: Context, { outline, scale }: Picture, colour: string): void => {
  const y = layout.brackets + layout.errors / 2 - 1
  let last = -Infinity
  context.strokeStyle = colour
  context.lineWidth = 1.5
  for (const position of outline.retries) {
    if (position < scale.first || position > scale.last) continue
    const x = scale.x(position) + scale.step / 2
    if (x - last < 5) continue
    last = x
    context.beginPath()
    context.arc(x, y, 2.5, 0, 2 * Math.PI)
    context.stroke()
  }
}

/** Draws the time of day below the curve, and the length of long pauses below the bars. */
export const drawTimes = (context: Context, { outline, scale, width, colours }: Picture): void => {
  const from = Math.max(scale.first, outline.from)
  const to = Math.min(scale.last, outline.to)
  context.fillStyle = colours['ink-3']
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`
  context.textBaseline = 'alphabetic'
  let [time, pause] = [-Infinity, -Infinity]
  for (let position = from; position <= to; position++) {
    const now = outline.times[position - outline.from] ?? 0
    const x = scale.x(position)
    if (x - time >= apart.time && x < width - 36) {
      time = x
      context.fillRect(Math.round(x), layout.height - layout.axis, 1, 4)
      context.fillText(clock(now).slice(0, 5), x + 4, layout.height - 3)
    }
    const waited = position > outline.from ? now - (outline.times[position - 1 - outline.from] ?? now) : 0
    if (waited <= longPause || x - pause < apart.pause || x > width - 48) continue
    pause = x
    context.fillRect(Math.round(x), base + 4, 1, 8)
    // Arrows of rewinds use the same lane.
    if (outline.rewinds.length === 0)
      context.fillText(duration(waited).replace(/ \d+ (?:s|min)$/, ''), x + 4, base + 12)
  }
}
