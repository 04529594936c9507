import { useEffect } from 'preact/hooks'

/** What the tab of the browser is called while a page is shown. */
export const useTitle = (page?: string): void => {
  useEffect(() => {
    document.title = page === undefined ? 'Palimpsest' : `${page} · Palimpsest`
  }, [page])
}
