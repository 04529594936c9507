import { count, kinds as kindNames, number } from '../../words.ts'
import type { OverviewResponse } from '../../source/answers.ts'
import { Times } from './canvas.tsx'
import type { Colours, Ink } from './colours.ts'
import type { Context } from './picture.ts'
import { bucketAt, overviewAt, type Scale } from './scale.ts'

/** Height of each lane of ticks, of the gap below it, and of the curve of context tokens below the lanes, in CSS pixels. */
const [lane, gap, curve] = [8, 2, 26]
/** Minimum width, in CSS pixels, of the frame around the part shown in the ribbon. */
const least = 4

/**
 * Letters of the kinds whose events are counted in each lane, from the top; `failed` counts the events that record an error, `retries`
 * the replies that repeat a call that failed.
 */
const lanes = [
  { letters: ['C', 'T'], ink: 'condensed' },
  { letters: ['failed', 'retries'], ink: 'error' },
  { letters: ['u'], ink: 'user' },
  { letters: ['a'], ink: 'assistant' },
  { letters: ['c'], ink: 'call' },
  { letters: ['r'], ink: 'result' },
  { letters: ['W', 'R'], ink: 'rewound' },
] as const satisfies readonly { readonly letters: readonly string[]; readonly ink: Ink }[]
/** Colours of the second kind of a lane, which is drawn above the first. */
const seconds: Readonly<Record<string, Ink>> = { T: 'truncated', R: 'restored', retries: 'call' }

const shownIn = (overview: OverviewResponse) =>
  lanes.filter(({ letters }) => letters.some((letter) => countsOf(overview, letter).some((one) => one > 0)))

const countsOf = (overview: OverviewResponse, letter: string): readonly number[] =>
  letter === 'failed' || letter === 'retries'
    ? overview[letter]
    : (overview.kinds[letter] ?? overview.first.map(() => 0))

interface OverviewProps {
  readonly overview: OverviewResponse
  readonly at: number
  readonly last: number
  readonly scale: Scale
  readonly width: number
  readonly colours: Colours
  readonly onMove: (event: Event) => void
  /** Called with a description of the part under the mouse pointer; with undefined when the pointer leaves. */
  readonly onPoint: (words: string | undefined) => void
}

/**
 * Shows a long conversation as a whole, with a frame around the part shown in the ribbon: a lane for each kind of event and, below the
 * lanes, the curve of context tokens.
 */
export const OverviewBand = ({
  overview,
  at,
  last,
  scale,
  width,
  colours,
  onMove,
  onPoint,
}: OverviewProps) => {
  const place = (position: number): number => overviewAt(overview.first, last, position) * width
  const now = place(at)
  const left = Math.min(width - least, Math.floor(place(scale.first)))
  const right = scale.last >= last ? width : Math.ceil(place(scale.last))
  const height = shownIn(overview).length * (lane + gap) + curve
  const of = [overview, colours]
  return (
    <div class="band overview" style={{ height: `${height}px` }}>
      <Times
        {...{ width, height, now }}
        past={{ of, draw: (context) => drawParts(context, overview, width, colours, false) }}
        future={{ of, draw: (context) => drawParts(context, overview, width, colours, true) }}
      />
      <i
        class="frame"
        style={{
          transform: `translateX(${left}px)`,
          width: `${Math.max(least, right - left)}px`,
        }}
      />
      <i class="now" style={{ transform: `translateX(${now - 0.75}px)` }} />
      <input
        type="range"
        class="slider"
        aria-label="Position in the whole conversation"
        aria-valuetext={`position ${number(at)} of ${number(last)}, ${partWords(overview, last, bucketAt(overview.first, at))}`}
        min={0}
        max={last}
        value={at}
        style={{ left: '0', width: '100%' }}
        onInput={onMove}
        onChange={onMove}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect()
          const share = (event.clientX - box.left) / Math.max(1, box.width)
          const bucket = Math.floor(share * overview.first.length)
          onPoint(partWords(overview, last, Math.max(0, Math.min(overview.first.length - 1, bucket))))
        }}
        onPointerLeave={() => onPoint(undefined)}
      />
    </div>
  )
}

/** Describes a part of the overview: `400,000–400,833: 120 user, 3 condensed, 1 failed`. */
const partWords = (overview: OverviewResponse, last: number, bucket: number): string => {
  const { first } = overview
  const from = first[bucket] ?? 0
  const counted = lanes
    .flatMap(({ letters }) => [...letters])
    .flatMap((letter) => {
      const of = countsOf(overview, letter)[bucket] ?? 0
      if (of === 0) return []
      if (letter === 'failed') return [`${number(of)} ${letter}`]
      if (letter === 'retries') return [count(of, 'retry', letter)]
      const name = kindNames[letter]
      return [letter === 'c' || letter === 'r' ? count(of, name) : `${number(of)} ${name}`]
    })
  return `${number(from)}–${number((first[bucket + 1] ?? last + 1) - 1)}: ${counted.join(', ')}`
}

/**
 * Draws the parts of an overview. Each lane has a tick for each part with events of its kind: between the lane's least and greatest
 * count, the more events the higher. Below the lanes follows the range of the context tokens, its maximum as a line.
 */
const drawParts = (
  context: Context,
  overview: OverviewResponse,
  width: number,
  colours: Colours,
  isFuture: boolean,
): void => {
  const { first, min, max } = overview
  // Parts narrower than a pixel are drawn together.
  const together = Math.max(1, Math.ceil(first.length / Math.max(1, width)))
  const parts = Math.ceil(first.length / together)
  const edge = (part: number): number => Math.round((part * together * width) / Math.max(1, first.length))
  const gather = (column: readonly number[], join: (one: number, other: number) => number): number[] =>
    Array.from({ length: parts }, (_, part) =>
      column.slice(part * together, (part + 1) * together).reduce((one, other) => join(one, other)),
    )
  const shown = shownIn(overview)
  for (const [index, { letters, ink }] of shown.entries()) {
    const bottom = index * (lane + gap) + lane
    const columns = letters.map((letter) => gather(countsOf(overview, letter), (one, other) => one + other))
    const sums = columns.reduce((some, others) => some.map((sum, part) => sum + (others[part] ?? 0)))
    const [fewest, most] = [Math.min(...sums), Math.max(...sums)]
    context.fillStyle = colours.line
    context.fillRect(0, bottom, width, 1)
    for (const [part, sum] of sums.entries()) {
      const tall = lowest + ((lane - lowest) * (sum - fewest)) / Math.max(1, most - fewest)
      let base = bottom
      for (const [nth, letter] of letters.entries()) {
        const its = sum === 0 ? 0 : (tall * (columns[nth]?.[part] ?? 0)) / sum
        context.fillStyle = isFuture ? colours['line-2'] : colours[nth > 0 ? (seconds[letter] ?? ink) : ink]
        context.fillRect(edge(part), base - its, Math.max(1, edge(part + 1) - edge(part)), its)
        base -= its
      }
    }
  }
  const top = shown.length * (lane + gap)
  const lows = gather(min, Math.min)
  const highs = gather(max, Math.max)
  const most = Math.max(1, ...highs)
  const y = (tokens: number): number => top + curve - 1 - (tokens / most) * (curve - 3)
  context.fillStyle = isFuture ? colours['line-2'] : colours.ink
  for (const [part, tokens] of highs.entries()) {
    const [x, wide] = [edge(part), Math.max(1, edge(part + 1) - edge(part))]
    context.globalAlpha = 0.1
    context.fillRect(x, y(tokens), wide, Math.max(1, y(lows[part] ?? tokens) - y(tokens)))
    context.globalAlpha = 1
    context.fillRect(x, y(tokens), wide, 1)
  }
}

/** Height of a lane's lowest tick, in CSS pixels. */
const lowest = 2
