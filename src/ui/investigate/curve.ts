// How calls lie in a plot of tokens: pure, so that it can be tested without a browser.

/** A call in a curve. */
export interface Point {
  readonly position: number
  readonly tokens: number
}

/** Where positions and tokens are, in pixels. */
export interface Plot {
  readonly x: (position: number) => number
  readonly y: (tokens: number) => number
  readonly width: number
  readonly height: number
  /** The tokens at the top. */
  readonly most: number
}

const steps = [1, 2, 2.5, 5, 10]

/** The least round number that is no less. */
export const rounded = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * (steps.find((step) => step * power >= value) ?? 10)
}

/** A plot of this size, with room for a mark at each side. */
export const plotOf = (
  points: readonly Point[],
  last: number,
  { width, height }: { readonly width: number; readonly height: number },
): Plot => {
  const edge = 6
  const most = rounded(points.reduce((all, { tokens }) => Math.max(all, tokens), 0))
  return {
    width,
    height,
    most,
    x: (position) => edge + (Math.max(0, width - 2 * edge) * position) / Math.max(1, last),
    y: (tokens) => height - 1 - (Math.min(tokens, most) / most) * (height - 12),
  }
}

const at = (value: number): string => String(Math.round(value * 10) / 10)

/** A line from call to call, in steps: the context is what it was until the next one. As SVG has it. */
export const lineOf = (points: readonly Point[], { x, y }: Plot): string =>
  points
    .map(({ position, tokens }, index) =>
      index === 0 ? `M${at(x(position))} ${at(y(tokens))}` : `H${at(x(position))}V${at(y(tokens))}`,
    )
    .join('')

/** What is under such a line. */
export const areaOf = (points: readonly Point[], plot: Plot): string => {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return ''
  const bottom = at(plot.height - 1)
  return `${lineOf(points, plot)}V${bottom}H${at(plot.x(first.position))}Z`
}
