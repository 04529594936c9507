import { inkOf } from '../conversation/ribbon/bars.ts'
import { Canvas, useWidth } from '../conversation/ribbon/canvas.tsx'
import { type Colours, useColours } from '../conversation/ribbon/colours.ts'
import type { OutlineResponse } from '../source/answers.ts'
import { number } from '../words.ts'
import { columnsOf, stepOf } from './heat.ts'
import type { BisectionResponse, BisectionAnswer } from '../source/answers.ts'

const layout = { heat: 56, gap: 10, bars: 18, height: 100 } as const
const under = layout.heat + layout.gap + layout.bars + 4

interface HeatStripProps {
  readonly bisection: BisectionResponse
  /** Outline of the candidates or, if there are many, of the position to judge; undefined while loading. */
  readonly outline: OutlineResponse | undefined
}

/** Shows how likely each position is the first bad one, with the kind of each event, the answers so far and the position to judge next. */
export const HeatStrip = ({ bisection, outline }: HeatStripProps) => {
  const { candidates } = bisection
  const [element, width] = useWidth()
  const colours = useColours()
  const end = Math.ceil(candidates.length * stepOf(candidates.length, width))
  return (
    <figure class="heat">
      <div ref={element} style={{ height: `${layout.height}px` }}>
        <Canvas
          width={width}
          height={layout.height}
          draw={(context) => draw(context, { ...bisection, outline, width, colours })}
          of={[bisection, outline, colours]}
        />
      </div>
      <figcaption class="faint figures" style={{ maxWidth: `${end}px` }}>
        <span>{number(candidates[0] ?? 0)}</span>
        <span>how likely each position is the first bad one · ● good ■ bad ○ skipped</span>
        <span>{number(bisection.bad)}</span>
      </figcaption>
    </figure>
  )
}

interface Picture extends Pick<BisectionResponse, 'candidates' | 'probabilities' | 'verdicts' | 'result'> {
  readonly outline: OutlineResponse | undefined
  readonly width: number
  readonly colours: Colours
}

const draw = (context: CanvasRenderingContext2D, picture: Picture): void => {
  const { candidates, verdicts, result, width, colours } = picture
  drawColumns(context, picture)
  context.fillStyle = colours['line-2']
  context.fillRect(0, layout.heat, width, 1)
  const step = stepOf(candidates.length, width)
  const middle = (position: number): number => {
    const index = candidates.findIndex((one) => one >= position)
    return (index < 0 ? candidates.length : index) * step + step / 2
  }
  for (const { position, verdict } of verdicts) drawVerdict(context, verdict, middle(position), colours)
  if (result.type === 'unclear') return
  context.fillStyle = colours.ink
  context.fillRect(Math.round(middle(result.position)) - 0.5, 0, 1.5, layout.height)
}

const drawColumns = (
  context: CanvasRenderingContext2D,
  { candidates, probabilities, outline, width, colours }: Picture,
): void => {
  for (const { x, width: wide, share, index } of columnsOf(probabilities, width)) {
    context.globalAlpha = 1
    context.fillStyle = colours.error
    const tall = Math.max(share > 0.001 ? 2 : 0, share * (layout.heat - 4))
    context.fillRect(x, layout.heat - tall, wide, tall)
    context.globalAlpha = 0.85
    context.fillStyle = colours[inkOf(outline?.kinds[(candidates[index] ?? 0) - outline.from])]
    context.fillRect(x, layout.heat + layout.gap, wide, layout.bars)
  }
  context.globalAlpha = 1
}

const inks = { good: 'ink', bad: 'error', skip: 'ink-3' } as const

/** Draws a verdict as a disc, a square or a ring, so that it can be recognized without its colour. */
const drawVerdict = (
  context: CanvasRenderingContext2D,
  verdict: BisectionAnswer,
  middle: number,
  colours: Colours,
): void => {
  context.fillStyle = context.strokeStyle = colours[inks[verdict]]
  context.beginPath()
  if (verdict === 'bad') context.rect(middle - 4, under, 8, 8)
  else context.arc(middle, under + 4, 4, 0, 2 * Math.PI)
  if (verdict === 'skip') context.stroke()
  else context.fill()
}
