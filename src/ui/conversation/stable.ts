import { useCallback, useRef } from 'preact/hooks'

/**
 * Returns a function that always calls the newest version of `newest`. Its identity never changes, so components that depend on it are
 * not redrawn.
 */
export const useStable = <A extends readonly unknown[], R>(
  newest: (...given: A) => R,
): ((...given: A) => R) => {
  const current = useRef(newest)
  current.current = newest
  return useCallback((...given: A) => current.current(...given), [])
}
