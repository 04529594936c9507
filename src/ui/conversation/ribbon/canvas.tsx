import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Context } from './picture.ts'

interface CanvasProps {
  readonly width: number
  readonly height: number
  readonly draw: (context: Context) => void
  /** Dependencies: the canvas is redrawn when one of them changes. */
  readonly of: readonly unknown[]
  /** Visible part, from one x to another. */
  readonly from?: number
  readonly to?: number
}

/** Draws a canvas of this size. */
export const Canvas = ({ width, height, draw, of, from = 0, to = width }: CanvasProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const { current } = canvas
      const context = current?.getContext('2d')
      if (!current || !context || width === 0) return
      const ratio = devicePixelRatio
      // That clears it.
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
  /** The x at which the past ends. */
  readonly now: number
  readonly past: Pick<CanvasProps, 'draw' | 'of'>
  readonly future: Pick<CanvasProps, 'draw' | 'of'>
}

/** Draws the past and the future: when the position moves, only the line between them does. */
export const Times = ({ width, height, now, past, future }: TimesProps) => {
  const edge = Math.max(0, Math.min(width, now))
  return (
    <>
      <Canvas {...{ width, height, ...future }} from={edge} />
      <Canvas {...{ width, height, ...past }} to={edge} />
    </>
  )
}

/** Returns the width of an element, updated when it changes. */
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
