import { useEffect } from 'preact/hooks'

export const useTitle = (page?: string): void => {
  useEffect(() => {
    document.title = page === undefined ? 'Palimpsest' : `${page} · Palimpsest`
  }, [page])
}
