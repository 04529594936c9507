import { options } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Reports whether the browser is printing the page. */
export const usePrinting = (): boolean => {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    // The browser captures the page right after this event, so the change must be rendered synchronously.
    const set = (value: boolean) => (): void => {
      options.debounceRendering = (draw) => draw()
      setPrinting(value)
      delete options.debounceRendering
    }
    const before = set(true)
    const after = set(false)
    addEventListener('beforeprint', before)
    addEventListener('afterprint', after)
    return () => {
      removeEventListener('beforeprint', before)
      removeEventListener('afterprint', after)
    }
  }, [])
  return isPrinting
}
