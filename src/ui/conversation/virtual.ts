import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

type Of = Virtualizer<HTMLDivElement, HTMLElement>

interface VirtualOptions {
  readonly count: number
  readonly keyOf: (index: number) => string
  /** Estimates the height of a row, in CSS pixels. */
  readonly estimate: (index: number) => number
  /** True if all rows are rendered, for printing. */
  readonly isWhole: boolean
}

/** Returns a virtualizer for rows of different heights, which renders only the visible rows. */
export const useVirtual = ({ count, keyOf, estimate, isWhole }: VirtualOptions) => {
  const scroller = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer((times: number) => times + 1, 0)
  const options: VirtualizerOptions<HTMLDivElement, HTMLElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: estimate,
    getItemKey: keyOf,
    overscan: isWhole ? count : 3,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(0),
  }
  const [virtual] = useState<Of>(() => new Virtualizer(options))
  virtual.setOptions(options)
  useEffect(() => virtual._didMount(), [])
  useLayoutEffect(() => virtual._willUpdate())
  return { virtual, scroller }
}
