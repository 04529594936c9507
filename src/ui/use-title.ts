import { useEffect } from 'preact/hooks'
import { plain } from './blocks/exact.ts'

export const useTitle = (page?: string): void => {
  useEffect(() => {
    document.title = page === undefined ? 'Palimpsest' : `${plain(page)} · Palimpsest`
  }, [page])
}
