import { useEffect } from 'preact/hooks'

/** Sets the title of the browser tab while a page is shown. */
export const useTitle = (page?: string): void => {
  useEffect(() => {
    document.title = page === undefined ? 'Palimpsest' : `${page} · Palimpsest`
  }, [page])
}
