import { useState } from 'preact/hooks'
import { callName } from '../call-link.tsx'
import { hrefs } from '../url.ts'
import { useWidth } from '../conversation/ribbon/canvas.tsx'
import { brief, number } from '../words.ts'
import { describeBreak } from './breaks.ts'
import { apart, areaOf, lineOf, plotOf, type Point } from './curve.ts'
import type { Break, ReplayRow } from '../source/answers.ts'

interface CurvesProps {
  readonly id: string
  /** Last position on the x axis. */
  readonly last: number
  readonly recorded: readonly ReplayRow[]
  /** Calls as another policy would have sent them; undefined if no other policy is being tried. */
  readonly replayed: readonly ReplayRow[] | undefined
  readonly breaks: readonly Break[]
}

const height = 180

/**
 * Shows the tokens of every model call, as sent and as another policy would have sent them, with a mark at each break of the prompt
 * cache.
 */
export const Curves = ({ id, last, recorded, replayed, breaks }: CurvesProps) => {
  const [element, width] = useWidth()
  const [hover, setHover] = useState<number>()
  const plot = plotOf([...recorded, ...(replayed ?? [])], last, { width, height })
  const read = recorded.map(({ position, read: tokens }): Point => ({ position, tokens }))
  const tokensAt = new Map(recorded.map(({ position, tokens }) => [position, tokens]))
  const marks = apart(
    breaks.map(({ position }) => ({ x: plot.x(position), y: plot.y(tokensAt.get(position) ?? 0) })),
    24,
  )
  const near = hover === undefined ? undefined : nearest(recorded, (hover / Math.max(1, width)) * last)
  const other = replayed?.find(({ position }) => position === near?.position)
  return (
    <figure class="curves" aria-label="Tokens of each call">
      <div
        class="plot"
        ref={element}
        style={{ height: `${height}px` }}
        onPointerMove={(event) => setHover(event.clientX - event.currentTarget.getBoundingClientRect().left)}
        onPointerLeave={() => setHover(undefined)}
      >
        <svg width={width} height={height} aria-hidden="true">
          {[0.25, 0.5, 0.75, 1].map((share) => (
            <line
              key={share}
              class="rule"
              x1={0}
              x2={width}
              y1={plot.y(plot.most * share)}
              y2={plot.y(plot.most * share)}
            />
          ))}
          <path class="read" d={areaOf(read, plot)} />
          <path class="recorded" d={lineOf(recorded, plot)} />
          {replayed && <path class="replayed" d={lineOf(replayed, plot)} />}
          {near && (
            <line class="here" x1={plot.x(near.position)} x2={plot.x(near.position)} y1={0} y2={height} />
          )}
        </svg>
        <span class="top-of-curves figures" aria-hidden="true">
          {brief(plot.most)}
        </span>
        {breaks.map((one, index) => {
          const { x = 0, y = 0 } = marks[index] ?? {}
          return (
            <a
              key={index}
              class="break"
              href={hrefs.conversation(id, { at: one.event ?? one.position })}
              aria-label={`break ${index + 1}, at ${number(one.position)}: ${describeBreak(one)}`}
              title={describeBreak(one)}
              style={{ left: `${x}px`, top: `${y}px` }}
            >
              {index + 1}
            </a>
          )
        })}
      </div>
      <figcaption>
        <ul class="keys-of-curves">
          <li class="recorded">sent</li>
          <li class="read">read from the cache</li>
          {replayed && <li class="replayed">what the policy would have sent</li>}
          {breaks.length > 0 && <li class="break-key">the cache broke</li>}
        </ul>
        <span class="figures">
          {near &&
            [
              callName(near),
              `${brief(near.tokens)} sent, ${brief(near.read)} read`,
              ...(other ? [`${brief(other.tokens)} with the policy`] : []),
            ].join(' · ')}
        </span>
      </figcaption>
    </figure>
  )
}

const nearest = (calls: readonly ReplayRow[], position: number): ReplayRow | undefined => {
  let best = calls[0]
  for (const call of calls)
    if (best && Math.abs(call.position - position) < Math.abs(best.position - position)) best = call
  return best
}
