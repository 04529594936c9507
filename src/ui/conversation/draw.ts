import type { Colours } from './colours.ts'
import { type Paths, type Stretch, within } from './path.ts'
import { type Scale, widest } from './scale.ts'
import type { Marker, Outline, Overview } from './shapes.ts'

// The ribbon, from top to bottom: brackets over what markers cover, bars on the path, those that a rewind left below it with its arc,
// and the tokens of the context.

/** Heights and edges, in CSS pixels. */
export const layout = { brackets: 16, bars: 20, lane: 18, gap: 8, curve: 40, height: 104 } as const
const base = layout.brackets + layout.bars
const curveTop = base + layout.lane + layout.gap

export interface Picture {
  readonly outline: Outline
  readonly paths: Paths
  readonly at: number
  readonly scale: Scale
  readonly width: number
  readonly colours: Colours
  /** Positions of search hits. */
  readonly hits: readonly number[]
  /** Tokens at which the context is condensed, if that is known. */
  readonly limit?: number | undefined
}

type Context = CanvasRenderingContext2D

const inks: Readonly<Record<string, keyof Colours>> = {
  u: 'user',
  r: 'result',
  a: 'assistant',
  c: 'call',
  C: 'condensed',
  T: 'truncated',
  W: 'rewind',
  R: 'rewind',
}
const colourOf = (letter: string | undefined, colours: Colours): string =>
  colours[inks[letter ?? ''] ?? 'faint']

export const drawRibbon = (context: Context, picture: Picture): void => {
  const { outline, paths, at, scale, width, colours } = picture
  const { first, last } = scale
  context.clearRect(0, 0, width, layout.height)
  const shown = [{ from: Math.max(first, outline.from), to: Math.min(last, outline.to) }]
  const now = within(paths.stretches(at), shown)
  drawBars(context, picture, now, shown[0] ?? { from: 0, to: -1 })
  drawRewinds(context, picture)
  drawBrackets(context, picture)
  drawCurve(context, picture)
  const x = scale.x(at) + scale.step / 2
  context.fillStyle = colours.ink
  context.fillRect(Math.round(x) - 0.5, 0, 1.5, layout.height)
  context.fillStyle = colours.accent
  for (const hit of picture.hits)
    if (hit >= first && hit <= last)
      context.fillRect(scale.x(hit) + scale.step / 2 - 1, layout.brackets - 5, 2.5, 4)
}

const drawBars = (context: Context, picture: Picture, now: readonly Stretch[], shown: Stretch): void => {
  const { outline, at, scale, colours } = picture
  const space = scale.step > 4 ? 1 : scale.step > 2.2 ? 0.5 : 0
  let index = 0
  for (let position = shown.from; position <= shown.to; position++) {
    const letter = outline.kinds[position - outline.from]
    while ((now[index]?.to ?? Infinity) < position) index++
    const isOn = position <= at && (now[index]?.from ?? Infinity) <= position
    const isFuture = position > at
    const full = letter === 'r' ? 14 : letter === 'K' || letter === '-' ? 6 : layout.bars
    const isBelow = !isOn && !isFuture
    context.globalAlpha = isFuture
      ? 0.3
      : isBelow && letter !== 'W'
        ? 0.75
        : letter === 'r'
          ? 0.5
          : letter === 'c'
            ? 0.8
            : 1
    context.fillStyle = isFuture
      ? colours.faint
      : isBelow && letter !== 'W'
        ? colours.abandoned
        : colourOf(letter, colours)
    const height = isBelow ? Math.round(full * 0.5) : full
    const top = isBelow ? base + 3 : base - height
    const wide = Math.min(widest, Math.max(1, scale.step - space))
    context.fillRect(scale.x(position) + (scale.step - space - wide) / 2, top, wide, height)
  }
  context.globalAlpha = 1
}

/** From each rewind, back below the path to where it led. */
const drawRewinds = (context: Context, { outline, at, scale, colours }: Picture): void => {
  context.lineWidth = 1
  for (const { position, to } of outline.rewinds) {
    if (position < scale.first || to > scale.last) continue
    const right = scale.x(position) + scale.step / 2
    const left = scale.x(Math.max(to, scale.first - 1)) + scale.step / 2
    context.globalAlpha = position > at ? 0.35 : 1
    context.strokeStyle = position > at ? colours.faint : colours.rewind
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

/** The first position that a marker covers at all levels: those that it covers may begin with another marker. */
export const firstOf = (marker: Marker, markers: ReadonlyMap<number, Marker>): number => {
  let { first } = marker
  for (let inner = markers.get(first); inner; inner = markers.get(first)) first = inner.first
  return first
}

const drawBrackets = (context: Context, { outline, paths, at, scale, colours }: Picture): void => {
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
      position > at ? colours.faint : kind === 'condensed' ? colours.condensed : colours.truncated
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

const drawCurve = (context: Context, picture: Picture): void => {
  const { outline, at, scale, colours, limit, width } = picture
  const from = Math.max(scale.first, outline.from)
  const to = Math.min(scale.last, outline.to)
  const most = curveMost(picture)
  const y = (tokens: number): number => curveTop + layout.curve - 1 - (tokens / most) * (layout.curve - 3)
  const line = (first: number, last: number, colour: string, fill: number): void => {
    if (last < first) return
    context.beginPath()
    for (let position = first; position <= last; position++) {
      const height = y(outline.tokens[position - outline.from] ?? 0)
      const x = scale.x(position)
      if (position === first) context.moveTo(x, height)
      context.lineTo(x, height)
      context.lineTo(x + scale.step, height)
    }
    context.lineWidth = 1.25
    context.strokeStyle = colour
    context.stroke()
    context.lineTo(scale.x(last + 1), curveTop + layout.curve)
    context.lineTo(scale.x(first), curveTop + layout.curve)
    context.globalAlpha = fill
    context.fillStyle = colour
    context.fill()
    context.globalAlpha = 1
  }
  line(from, Math.min(at, to), colours.ink, 0.07)
  line(Math.max(from, at + 1), to, colours['strong-line'], 0.1)
  context.fillStyle = colours.line
  context.fillRect(0, curveTop + layout.curve - 1, width, 1)
  if (limit !== undefined && limit <= most) {
    context.strokeStyle = colours.truncated
    context.lineWidth = 1
    context.setLineDash([3, 3])
    context.beginPath()
    context.moveTo(0, Math.round(y(limit)) + 0.5)
    context.lineTo(width, Math.round(y(limit)) + 0.5)
    context.stroke()
    context.setLineDash([])
  }
}

/** The tokens at the top of the curve. */
export const curveMost = ({
  outline,
  scale,
  limit,
}: Pick<Picture, 'outline' | 'scale' | 'limit'>): number => {
  let most = 1
  for (let index = Math.max(0, scale.first - outline.from); index <= scale.last - outline.from; index++)
    most = Math.max(most, outline.tokens[index] ?? 0)
  return limit !== undefined && limit < most * 1.6 ? Math.max(most, limit) : most
}

export const overviewHeight = 30

/** The whole of a long conversation: the band of its tokens, ticks where there are markers and rewinds, a frame around what the ribbon shows. */
export const drawOverview = (
  context: Context,
  { first, min, max, markers, rewinds, last }: Overview,
  {
    at,
    scale,
    width,
    colours,
    place,
  }: {
    readonly at: number
    readonly scale: Scale
    readonly width: number
    readonly colours: Colours
    readonly place: (position: number) => number
  },
): void => {
  context.clearRect(0, 0, width, overviewHeight)
  const most = Math.max(1, ...max)
  const step = width / Math.max(1, first.length)
  const y = (tokens: number): number => overviewHeight - 2 - (tokens / most) * (overviewHeight - 10)
  for (const [index, top] of max.entries()) {
    const x = index * step
    const isFuture = (first[index] ?? 0) > at
    context.fillStyle = isFuture ? colours['strong-line'] : colours.result
    context.globalAlpha = isFuture ? 0.6 : 0.55
    const low = y(min[index] ?? top)
    context.fillRect(x, y(top), Math.max(1, step), Math.max(1, low - y(top)))
    context.globalAlpha = 1
    if ((markers[index] ?? 0) > 0) {
      context.fillStyle = isFuture ? colours['strong-line'] : colours.condensed
      context.fillRect(x, 0, Math.max(1, step), 4)
    }
    if ((rewinds[index] ?? 0) > 0) {
      context.fillStyle = isFuture ? colours['strong-line'] : colours.rewind
      context.fillRect(x, 4, Math.max(1, step), 3)
    }
  }
  const left = place(scale.first) * width
  const right = Math.max(left + 3, scale.last >= last ? width : place(scale.last) * width)
  context.strokeStyle = colours.ink
  context.lineWidth = 1
  context.strokeRect(
    Math.floor(left) + 0.5,
    0.5,
    Math.min(width - 1, Math.ceil(right - left)),
    overviewHeight - 1,
  )
  context.fillStyle = colours.ink
  context.fillRect(place(at) * width - 0.75, 0, 1.5, overviewHeight)
}
