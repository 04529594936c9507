import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Context } from './picture.ts'

interface CanvasProps {
  readonly width: number
  readonly height: number
  readonly draw: (context: Context) => void
  /** What it shows: it is drawn again when one of these is another. */
  readonly of: readonly unknown[]
  /** What of it is in sight: from one x to another. */
  readonly from?: number
  readonly to?: number
}

/** A picture of this size. */
export const Canvas = ({ width, height, draw, of, from = 0, to = width }: CanvasProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const ratio = devicePixelRatio
      // Whatever it showed is gone with that.
      current.width = width * ratio
      current.height = height * ratio
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context)
    })
    return () => cancelAnimationFrame(frame)
  }, [width, height, ...of])
  return (
    <canvas
      ref={canvas}
      aria-hidden="true"
      style={{
        width: `${width}px`,
        height: `${height}px`,
        clipPath: from > 0 || to < width ? `inset(0 ${width - to}px 0 ${from}px)` : '',
      }}
    />
  )
}

interface TimesProps extends Pick<CanvasProps, 'width' | 'height'> {
  /** Where what has happened ends. */
  readonly now: number
  readonly past: Pick<CanvasProps, 'draw' | 'of'>
  readonly future: Pick<CanvasProps, 'draw' | 'of'>
}

/** What has happened, and what is still to come: while one moves, only the line between them does. */
export const Times = ({ width, height, now, past, future }: TimesProps) => {
  const edge = Math.max(0, Math.min(width, now))
  return (
    <>
      <Canvas {...{ width, height, ...future }} from={edge} />
      <Canvas {...{ width, height, ...past }} to={edge} />
    </>
  )
}

/** The width of an element, also when it changes. */
export const useWidth = () => {
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
