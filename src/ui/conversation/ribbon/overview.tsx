import { number } from '../../words.ts'
import type { OverviewResponse } from '../../source/answers.ts'
import { Times } from './canvas.tsx'
import type { Colours } from './colours.ts'
import type { Context } from './picture.ts'
import { overviewAt, type Scale } from './scale.ts'

const height = 30
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

interface Inks {
  readonly tokens: string
  readonly alpha: number
  readonly markers: string
  readonly rewinds: string
}
const pastInks = ({ result, condensed, rewound }: Colours): Inks => ({
  tokens: result,
  alpha: 0.55,
  markers: condensed,
  rewinds: rewound,
})
const futureInks = ({ future: line }: Colours): Inks => ({
  tokens: line,
  alpha: 0.6,
  markers: line,
  rewinds: line,
})

/** Draws the tokens of each bucket of the overview, with ticks for markers and rewinds. */
const drawParts = (
  context: Context,
  { first, min, max, markers, rewinds }: OverviewResponse,
  width: number,
  inks: Inks,
): void => {
  const most = max.reduce((one, other) => Math.max(one, other), 1)
  const step = width / Math.max(1, first.length)
  const y = (tokens: number): number => height - 2 - (tokens / most) * (height - 10)
  for (const [index, top] of max.entries()) {
    const x = index * step
    const wide = Math.max(1, step)
    context.fillStyle = inks.tokens
    context.globalAlpha = inks.alpha
    context.fillRect(x, y(top), wide, Math.max(1, y(min[index] ?? top) - y(top)))
    context.globalAlpha = 1
    if ((markers[index] ?? 0) > 0) {
      context.fillStyle = inks.markers
      context.fillRect(x, 0, wide, 4)
    }
    if ((rewinds[index] ?? 0) > 0) {
      context.fillStyle = inks.rewinds
      context.fillRect(x, 4, wide, 3)
    }
  }
}
