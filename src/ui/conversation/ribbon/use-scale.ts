import { useMemo, useRef } from 'preact/hooks'
import { type Scale, scaleOf } from './scale.ts'

/**
 * Returns the scale of the ribbon. The scale does not change while the position is well inside the ribbon or, during a drag, anywhere
 * inside it.
 */
export const useScale = (
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
  // An equal scale must be the same object, because a new object would cause a redraw.
  const kept = useRef(scale)
  if (!isSameScale(kept.current, scale)) kept.current = scale
  return kept.current
}

const isSameScale = (one: Scale, other: Scale): boolean =>
  one.first === other.first && one.last === other.last && one.step === other.step
