import { useCallback, useRef } from 'preact/hooks'

/** A function that stays the same, and does what the newest one does: what depends on it need not be drawn again. */
export const useStable = <A extends readonly unknown[], R>(
  newest: (...given: A) => R,
): ((...given: A) => R) => {
  const current = useRef(newest)
  current.current = newest
  return useCallback((...given: A) => current.current(...given), [])
}
