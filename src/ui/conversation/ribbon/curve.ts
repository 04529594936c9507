import { type Context, curveTop, layout, type Picture } from './picture.ts'

/** Draws the number of context tokens over the visible positions as a curve. */
export const drawCurve = (
  context: Context,
  picture: Picture,
  { through, colour, fill }: { readonly through: number; readonly colour: string; readonly fill: number },
): void => {
  const { outline, scale, width, colours, limit } = picture
  const from = Math.max(scale.first, outline.from)
  const to = Math.min(scale.last, outline.to, through)
  const most = curveMost(picture)
  const y = (tokens: number): number => curveTop + layout.curve - 1 - (tokens / most) * (layout.curve - 3)
  context.fillStyle = colours.line
  context.fillRect(0, curveTop + layout.curve - 1, width, 1)
  if (to < from) return
  context.beginPath()
  for (let position = from; position <= to; position++) {
    const height = y(outline.tokens[position - outline.from] ?? 0)
    const x = scale.x(position)
    if (position === from) context.moveTo(x, height)
    context.lineTo(x, height)
    context.lineTo(x + scale.step, height)
  }
  context.lineWidth = 1.25
  context.strokeStyle = colour
  context.stroke()
  context.lineTo(scale.x(to + 1), curveTop + layout.curve)
  context.lineTo(scale.x(from), curveTop + layout.curve)
  context.globalAlpha = fill
  context.fillStyle = colour
  context.fill()
  context.globalAlpha = 1
  if (limit !== undefined && limit <= most) drawLimit(context, picture, y(limit))
}

const drawLimit = (context: Context, { width, colours }: Picture, y: number): void => {
  context.strokeStyle = colours['ink-3']
  context.lineWidth = 1
  context.setLineDash([3, 3])
  context.beginPath()
  context.moveTo(0, Math.round(y) + 0.5)
  context.lineTo(width, Math.round(y) + 0.5)
  context.stroke()
  context.setLineDash([])
}

/** Returns the number of tokens at the top of the curve's scale. */
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
