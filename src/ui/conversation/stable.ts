import { useCallback, useRef } from 'preact/hooks'

/** Returns a function whose identity is stable and that calls the newest version: components depending on it are not redrawn. */
export const useStable = <A extends readonly unknown[], R>(
  newest: (...given: A) => R,
): ((...given: A) => R) => {
  const current = useRef(newest)
  current.current = newest
  return useCallback((...given: A) => current.current(...given), [])
}
