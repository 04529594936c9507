import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Context } from './picture.ts'

interface CanvasProps {
  readonly width: number
  readonly height: number
  readonly draw: (context: Context) => void
  readonly of: readonly unknown[]
  /** Left and right edge of the visible part, in CSS pixels. */
  readonly from?: number
  readonly to?: number
}

/** Shows a canvas, and redraws it when its size or a value in `of` changes. */
export const Canvas = ({ width, height, draw, of, from = 0, to = width }: CanvasProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const ratio = devicePixelRatio
      // Setting the size clears the canvas.
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
  /** Edge between the past and the future: its x coordinate in CSS pixels. */
  readonly now: number
  readonly past: Pick<CanvasProps, 'draw' | 'of'>
  readonly future: Pick<CanvasProps, 'draw' | 'of'>
}

/** Shows the past and the future on two canvases. While the position moves, usually only the edge between them changes. */
export const Times = ({ width, height, now, past, future }: TimesProps) => {
  const edge = Math.max(0, Math.min(width, now))
  return (
    <>
      <Canvas {...{ width, height, ...future }} from={edge} />
      <Canvas {...{ width, height, ...past }} to={edge} />
    </>
  )
}

/** Returns a ref for an element, and the element's current width in CSS pixels. */
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
