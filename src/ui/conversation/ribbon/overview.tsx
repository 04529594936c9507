import { number } from '../../words.ts'
import type { OverviewResponse } from '../../source/answers.ts'
import { Times } from './canvas.tsx'
import type { Colours } from './colours.ts'
import type { Context } from './picture.ts'
import { overviewAt, type Scale } from './scale.ts'

const height = 44
/** Minimum width, in CSS pixels, of the frame around the part shown in the ribbon. */
const least = 4

interface OverviewProps {
  readonly overview: OverviewResponse
  readonly at: number
  readonly last: number
  readonly scale: Scale
  readonly width: number
  readonly colours: Colours
  readonly onMove: (event: Event) => void
}

/** Shows a long conversation as a whole, with a frame around the part shown in the ribbon. */
export const OverviewBand = ({ overview, at, last, scale, width, colours, onMove }: OverviewProps) => {
  const place = (position: number): number => overviewAt(overview.first, last, position) * width
  const now = place(at)
  const left = Math.min(width - least, Math.floor(place(scale.first)))
  const right = scale.last >= last ? width : Math.ceil(place(scale.last))
  const of = [overview, colours]
  return (
    <div class="band overview" style={{ height: `${height}px` }}>
      <Times
        {...{ width, height, now }}
        past={{ of, draw: (context) => drawParts(context, overview, width, pastInks(colours)) }}
        future={{ of, draw: (context) => drawParts(context, overview, width, futureInks(colours)) }}
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
        aria-valuetext={`position ${number(at)} of ${number(last)}`}
        min={0}
        max={last}
        value={at}
        style={{ left: '0', width: '100%' }}
        onInput={onMove}
        onChange={onMove}
      />
    </div>
  )
}

type Inks = Readonly<Record<'tokens' | 'markers' | 'rewinds' | 'failed', string>>
const pastInks = ({ ink, condensed, rewound, error }: Colours): Inks => ({
  tokens: ink,
  markers: condensed,
  rewinds: rewound,
  failed: error,
})
const futureInks = ({ 'line-2': line }: Colours): Inks => ({
  tokens: line,
  markers: line,
  rewinds: line,
  failed: line,
})

/** Height of the lanes for markers, rewinds and errors, above the curve. */
const lane = 5

/**
 * Draws the tokens of each bucket of the overview as a curve of the most and a fill from the least, and lanes for markers, rewinds and
 * errors: the more of them in a bucket, the higher its tick.
 */
const drawParts = (
  context: Context,
  { first, min, max, markers, rewinds, failed }: OverviewResponse,
  width: number,
  inks: Inks,
): void => {
  const most = max.reduce((one, other) => Math.max(one, other), 1)
  const step = width / Math.max(1, first.length)
  const top = 3 * lane + 1
  const y = (tokens: number): number => height - 1 - (tokens / most) * (height - top - 2)
  const lanes = [markers, rewinds, failed].map((counts, index) => ({
    counts,
    most: counts.reduce((one, other) => Math.max(one, other), 1),
    bottom: (index + 1) * lane,
    ink: [inks.markers, inks.rewinds, inks.failed][index] ?? inks.tokens,
  }))
  for (const [index, tokens] of max.entries()) {
    const x = index * step
    const wide = Math.max(1, step)
    context.fillStyle = inks.tokens
    context.globalAlpha = 0.18
    context.fillRect(x, y(tokens), wide, Math.max(1, y(min[index] ?? tokens) - y(tokens)))
    context.globalAlpha = 1
    context.fillRect(x, y(tokens), wide, 1)
    for (const { counts, most: peak, bottom, ink } of lanes) {
      const share = (counts[index] ?? 0) / peak
      if (share === 0) continue
      const tall = Math.max(1.5, share * (lane - 1))
      context.fillStyle = ink
      context.fillRect(x, bottom - tall, wide, tall)
    }
  }
}
