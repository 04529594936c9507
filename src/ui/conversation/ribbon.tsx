import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { brief, clock, kindOf, kinds, number } from '../words.ts'
import { useColours } from './colours.ts'
import { curveMost, drawOverview, drawRibbon, layout, overviewHeight } from './draw.ts'
import type { Paths } from './path.ts'
import { overviewAt, type Scale, scaleOf } from './scale.ts'
import type { Outline, Overview } from './shapes.ts'

interface RibbonProps {
  readonly outline: Outline
  readonly overview: Overview | undefined
  readonly paths: Paths
  readonly at: number
  readonly last: number
  readonly hits: readonly number[]
  readonly limit?: number | undefined
  /** Moves while something is dragged, and once it is let go. */
  readonly onMove: (position: number, isDragging: boolean) => void
  readonly onStep: (key: 'next' | 'previous' | 'nextTurn' | 'previousTurn' | 'start' | 'head') => void
}

const steps = {
  ArrowRight: 'next',
  ArrowUp: 'next',
  ArrowLeft: 'previous',
  ArrowDown: 'previous',
  PageUp: 'previousTurn',
  PageDown: 'nextTurn',
  Home: 'start',
  End: 'head',
} as const

/** The width of an element, also when it changes. */
const useWidth = () => {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const { current } = element
    if (!current) return undefined
    const watching = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)))
    watching.observe(current)
    setWidth(Math.floor(current.clientWidth))
    return () => watching.disconnect()
  }, [])
  return [element, width] as const
}

/** A canvas of this size, drawn again whenever something that it shows has changed. */
const useCanvas = (width: number, height: number, draw: (context: CanvasRenderingContext2D) => void) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const ratio = devicePixelRatio
      if (current.width !== width * ratio || current.height !== height * ratio) {
        current.width = width * ratio
        current.height = height * ratio
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context)
    })
    return () => cancelAnimationFrame(frame)
  })
  return canvas
}

export const Ribbon = (props: RibbonProps) => {
  const { outline, overview, paths, at, last, hits, limit, onMove, onStep } = props
  const [element, width] = useWidth()
  const colours = useColours()
  const before = useRef<number | undefined>(undefined)
  const isDragging = useRef(false)
  const [hover, setHover] = useState<number>()
  const scale = useScale(last, width, at, isDragging.current, before)
  const canvas = useCanvas(width, layout.height, (context) =>
    drawRibbon(context, { outline, paths, at, scale, width, colours, hits, limit }),
  )
  const move = (event: Event): void => {
    const value = Number((event.currentTarget as HTMLInputElement).value)
    onMove(value, event.type === 'input')
  }
  const end = Math.min(scale.last, last)
  const pointed = hover ?? undefined
  return (
    <section class="ribbon" aria-label="Ribbon">
      {overview && <OverviewBand {...{ overview, at, last, scale, width, colours, onMove }} />}
      <div class="band" ref={element} style={{ height: `${layout.height}px` }}>
        <canvas
          ref={canvas}
          aria-hidden="true"
          style={{ width: `${width}px`, height: `${layout.height}px` }}
        />
        <input
          type="range"
          class="slider"
          aria-label="Position"
          min={scale.first}
          max={end}
          step={1}
          value={at}
          aria-valuetext={`position ${number(at)} of ${number(last)}, ${kindOf(letterAt(outline, at))}, ${number(tokensAt(outline, at))} tokens`}
          style={{ left: `${scale.step / 2}px`, width: `${Math.max(2, (end - scale.first) * scale.step)}px` }}
          onPointerDown={() => (isDragging.current = true)}
          onPointerUp={() => (isDragging.current = false)}
          onPointerCancel={() => (isDragging.current = false)}
          onPointerMove={(event) => {
            const { left } = event.currentTarget.getBoundingClientRect()
            setHover(scale.at(event.clientX - left + scale.step / 2))
          }}
          onPointerLeave={() => setHover(undefined)}
          onInput={move}
          onChange={move}
          onKeyDown={(event) => {
            const step = steps[event.key as keyof typeof steps]
            if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
            event.preventDefault()
            onStep(step)
          }}
        />
      </div>
      <div class="legend">
        <ul aria-label="Colours">
          {present(outline).map((letter) => (
            <li key={letter} class={`tone-${toneOf(letter)}`}>
              {kinds[letter]}
            </li>
          ))}
          {outline.rewinds.length > 0 && <li class="tone-abandoned">abandoned</li>}
        </ul>
        <span class="figures pointed">
          {pointed === undefined
            ? `tokens in context, up to ${brief(curveMost({ outline, scale, limit }))}`
            : pointedWords(outline, pointed)}
        </span>
      </div>
    </section>
  )
}

/** A window that stands still while one drags, and while the position is well inside of it. */
const useScale = (
  last: number,
  width: number,
  at: number,
  isDragging: boolean,
  before: { current: number | undefined },
): Scale => {
  const scale = useMemo(() => {
    const next = scaleOf(last, width, at, before.current)
    const isInside =
      before.current !== undefined &&
      at >= before.current &&
      at < before.current + (next.last - next.first + 1)
    return isDragging && isInside
      ? scaleOf(last, width, (before.current ?? 0) + Math.floor((next.last - next.first) / 2), before.current)
      : next
  }, [last, width, at, isDragging])
  before.current = scale.first
  return scale
}

const letterAt = ({ from, kinds: letters }: Outline, position: number): string | undefined =>
  letters[position - from]
const tokensAt = ({ from, tokens }: Outline, position: number): number => tokens[position - from] ?? 0

const pointedWords = (outline: Outline, position: number): string => {
  const letter = letterAt(outline, position)
  if (letter === undefined) return number(position)
  const time = outline.times[position - outline.from]
  return [
    number(position),
    kindOf(letter),
    `${brief(tokensAt(outline, position))} tokens`,
    ...(time === undefined ? [] : [clock(time)]),
  ].join(' · ')
}

const order = ['u', 'a', 'c', 'r', 's', 'C', 'T', 'W', 'R'] as const
const present = ({ kinds: letters }: Outline) => order.filter((letter) => letters.includes(letter))
const tones = {
  u: 'user',
  a: 'assistant',
  c: 'call',
  r: 'result',
  s: 'system',
  C: 'condensed',
  T: 'truncated',
  W: 'rewind',
  R: 'rewind',
} as const
const toneOf = (letter: (typeof order)[number]): string => tones[letter]

interface BandProps {
  readonly overview: Overview
  readonly at: number
  readonly last: number
  readonly scale: Scale
  readonly width: number
  readonly colours: Parameters<typeof drawOverview>[2]['colours']
  readonly onMove: (position: number, isDragging: boolean) => void
}

const OverviewBand = ({ overview, at, last, scale, width, colours, onMove }: BandProps) => {
  const place = (position: number): number => overviewAt(overview.first, last, position)
  const canvas = useCanvas(width, overviewHeight, (context) =>
    drawOverview(context, overview, { at, scale, width, colours, place }),
  )
  const move = (event: Event): void =>
    onMove(Number((event.currentTarget as HTMLInputElement).value), event.type === 'input')
  return (
    <div class="band overview" style={{ height: `${overviewHeight}px` }}>
      <canvas
        ref={canvas}
        aria-hidden="true"
        style={{ width: `${width}px`, height: `${overviewHeight}px` }}
      />
      <input
        type="range"
        class="slider"
        aria-label="Position in the whole conversation"
        aria-valuetext={`position ${number(at)} of ${number(last)}`}
        min={0}
        max={last}
        value={at}
        style={{ left: '0', width: '100%' }}
        onInput={move}
        onChange={move}
      />
    </div>
  )
}
