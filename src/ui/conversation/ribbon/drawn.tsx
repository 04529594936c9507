import { drawFuture, drawPast, throughFrom } from './bars.ts'
import { Canvas, Times } from './canvas.tsx'
import { drawCurve } from './curve.ts'
import { drawBrackets, drawHits, drawRewinds, pastMarksKey } from './marks.ts'
import { layout, type Picture } from './picture.ts'
import { drawErrors, drawRetries, drawTimes } from './times.ts'

interface DrawnProps extends Picture {
  readonly at: number
  readonly hits: readonly number[]
}

/** Draws the ribbon (the conversation's timeline). When the position changes, redraws only the parts that look different. */
export const Drawn = ({ at, hits, ...picture }: DrawnProps) => {
  const { outline, paths, scale, width, colours, limit } = picture
  const of = [outline, paths, scale, colours, limit]
  const through = throughFrom(outline, at)
  const size = { width, height: layout.height }
  const now = scale.x(at) + scale.step / 2
  return (
    <>
      <Times
        {...size}
        now={scale.x(at + 1)}
        past={{
          of: [...of, through],
          draw: (context) => {
            drawPast(context, picture, through)
            drawRetries(context, picture, colours.call)
            drawErrors(context, picture, colours.error)
            drawCurve(context, picture, { through, colour: colours.ink, fill: 0.07 })
          },
        }}
        future={{
          of,
          draw: (context) => {
            drawFuture(context, picture)
            drawRetries(context, picture, colours.future)
            drawErrors(context, picture, colours.future)
            drawCurve(context, picture, { through: Infinity, colour: colours['line-2'], fill: 0.1 })
          },
        }}
      />
      <Canvas
        {...size}
        of={[...of, pastMarksKey(outline, at), hits]}
        draw={(context) => {
          drawRewinds(context, picture, at)
          drawBrackets(context, picture, at)
          drawHits(context, picture, hits)
        }}
      />
      <Canvas {...size} of={of} draw={(context) => drawTimes(context, picture)} />
      <i class="now" style={{ transform: `translateX(${Math.round(now) - 0.5}px)` }} />
    </>
  )
}
