// Layout of model calls in a plot of tokens, as pure functions that can be tested without a browser.

/** Model call on a curve: the position of its reply, and its tokens. */
export interface Point {
  readonly position: number
  readonly tokens: number
}

/** Mapping from positions and tokens to CSS pixels. */
export interface Plot {
  readonly x: (position: number) => number
  readonly y: (tokens: number) => number
  readonly width: number
  readonly height: number
  /** Number of tokens at the top of the plot. */
  readonly most: number
}

const steps = [1, 2, 2.5, 5, 10]

/** Returns the smallest round number that is at least `value`. */
export const roundUp = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * (steps.find((step) => step * power >= value) ?? 10)
}

/** Returns a plot of the given size, with a margin on each side for marks. */
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

/** Centre of a mark, in CSS pixels. */
export interface CurveMark {
  readonly x: number
  readonly y: number
}

/** Separates marks that are `size` pixels wide: a mark that would cover an earlier one is moved above it, space permitting. */
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

/** Returns an SVG path with a step at each model call: the tokens stay constant until the next call. */
export const lineOf = (points: readonly Point[], { x, y }: Plot): string =>
  points
    .map(({ position, tokens }, index) =>
      index === 0 ? `M${at(x(position))} ${at(y(tokens))}` : `H${at(x(position))}V${at(y(tokens))}`,
    )
    .join('')

/** Returns the SVG path of the area under a curve. */
export const areaOf = (points: readonly Point[], plot: Plot): string => {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return ''
  const bottom = at(plot.height - 1)
  return `${lineOf(points, plot)}V${bottom}H${at(plot.x(first.position))}Z`
}
