import { useEffect } from 'preact/hooks'

/** What the tab of the browser is called while a page is shown. */
export const useTitle = (title: string): void => {
  useEffect(() => {
    document.title = title
  }, [title])
}
