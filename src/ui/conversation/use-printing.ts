import { options } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Reports whether the browser is printing the page. */
export const usePrinting = (): boolean => {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    // The browser takes its picture right after its event: what it leads to is drawn at once.
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
