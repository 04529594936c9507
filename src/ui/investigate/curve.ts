// How calls lie in a plot of tokens: pure, so that it can be tested without a browser.

/** A call on a curve. */
export interface Point {
  readonly position: number
  readonly tokens: number
}

/** Mapping of positions and tokens to pixels. */
export interface Plot {
  readonly x: (position: number) => number
  readonly y: (tokens: number) => number
  readonly width: number
  readonly height: number
  /** Tokens at the top. */
  readonly most: number
}

const steps = [1, 2, 2.5, 5, 10]

/** Returns the smallest round number that is not smaller. */
export const roundUp = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * (steps.find((step) => step * power >= value) ?? 10)
}

/** Makes a plot of this size, with room for a mark at each side. */
export const plotOf = (
  points: readonly Point[],
  last: number,
  { width, height }: { readonly width: number; readonly height: number },
): Plot => {
  const edge = 12
  const most = roundUp(points.reduce((all, { tokens }) => Math.max(all, tokens), 0))
  return {
    width,
    height,
    most,
    x: (position) => edge + (Math.max(0, width - 2 * edge) * position) / Math.max(1, last),
    y: (tokens) => height - 1 - (Math.min(tokens, most) / most) * (height - 12),
  }
}

/** Centre of a mark, in pixels. */
export interface CurveMark {
  readonly x: number
  readonly y: number
}

/** Separates marks of this size: one that would cover an earlier mark is moved above it, as far as there is room. */
export const apart = (marks: readonly CurveMark[], size: number): readonly CurveMark[] => {
  const placed: CurveMark[] = []
  for (const { x, y: own } of marks) {
    let y = Math.max(size / 2, own)
    const covers = (other: CurveMark): boolean => Math.abs(other.x - x) < size && Math.abs(other.y - y) < size
    while (y >= 1.5 * size && placed.some(covers)) y -= size
    placed.push({ x, y })
  }
  return placed
}

const at = (value: number): string => String(Math.round(value * 10) / 10)

/** Makes an SVG path from call to call, in steps: the context is unchanged until the next call. */
export const lineOf = (points: readonly Point[], { x, y }: Plot): string =>
  points
    .map(({ position, tokens }, index) =>
      index === 0 ? `M${at(x(position))} ${at(y(tokens))}` : `H${at(x(position))}V${at(y(tokens))}`,
    )
    .join('')

/** Makes an SVG path of the area under such a line. */
export const areaOf = (points: readonly Point[], plot: Plot): string => {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return ''
  const bottom = at(plot.height - 1)
  return `${lineOf(points, plot)}V${bottom}H${at(plot.x(first.position))}Z`
}
