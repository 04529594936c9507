import { useRef, useState } from 'preact/hooks'
import { kindOf, number } from '../../words.ts'
import type { Paths } from '../path.ts'
import type { OutlineResponse, OverviewResponse } from '../../source/answers.ts'
import { useWidth } from './canvas.tsx'
import { useColours } from './colours.ts'
import { Drawn } from './drawn.tsx'
import { Legend } from './legend.tsx'
import { OverviewBand } from './overview.tsx'
import { layout } from './picture.ts'
import { useScale } from './use-scale.ts'

interface RibbonProps {
  readonly outline: OutlineResponse
  readonly overview: OverviewResponse | undefined
  readonly paths: Paths
  readonly at: number
  readonly last: number
  readonly hits: readonly number[]
  readonly limit?: number | undefined
  /** Called with `isDragging` true while the user drags, and false when the drag ends. */
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

export const Ribbon = (props: RibbonProps) => {
  const { outline, overview, paths, at, last, hits, limit, onMove, onStep } = props
  const [element, width] = useWidth()
  const colours = useColours()
  const before = useRef<number | undefined>(undefined)
  const isDragging = useRef(false)
  const [hover, setHover] = useState<number>()
  const [part, setPart] = useState<string>()
  const scale = useScale(last, width, at, isDragging.current, before)
  const move = (event: Event): void => {
    const value = Number((event.currentTarget as HTMLInputElement).value)
    onMove(value, event.type === 'input')
  }
  const end = Math.min(scale.last, last)
  const index = at - outline.from
  return (
    <section class="ribbon" aria-label="Ribbon">
      {overview && (
        <OverviewBand {...{ overview, at, last, scale, width, colours }} onMove={move} onPoint={setPart} />
      )}
      <div class="band" ref={element} style={{ height: `${layout.height}px` }}>
        <Drawn {...{ outline, paths, scale, width, colours, limit, at, hits }} />
        <input
          type="range"
          class="slider"
          aria-label="Position"
          min={scale.first}
          max={end}
          step={1}
          value={at}
          aria-valuetext={`position ${number(at)} of ${number(last)}, ${kindOf(outline.kinds[index])}, ${number(outline.tokens[index] ?? 0)} tokens`}
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
      <Legend {...{ outline, scale, limit, part }} pointed={hover} />
    </section>
  )
}
