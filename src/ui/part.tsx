import type { ComponentChildren } from 'preact'
import { toast } from './acts/toast.tsx'
import { openSheet, setComing } from './sheet.tsx'
import { toThrowable } from './source/source.ts'
import { holdKeys } from './use-keys.ts'

// Parts of the page that are loaded when they are first needed. The server may be gone by then, or a newer one runs, whose parts have other names.

const lost = (): Error =>
  toThrowable({
    title: 'This part of the page could not be loaded',
    detail: 'The server cannot be reached, or it is another version by now: load the page again.',
    status: 0,
  })

/** Loads a part of the page, as with `import()`. Rejects with a `Problem` that says what to do. */
export const part = <A,>(loading: Promise<A>): Promise<A> =>
  loading.catch(() => {
    throw lost()
  })

/** Opens a sheet once its part is loaded. Keys typed meanwhile go to the sheet. */
export const openPart = <A,>(loading: Promise<A>, sheetOf: (loaded: A) => ComponentChildren): void => {
  const release = holdKeys()
  setComing(true)
  withPart(loading, (loaded) => openSheet(sheetOf(loaded)))
  const done = (): void => {
    setComing(false)
    release()
  }
  // It is drawn by then.
  void loading.then(() => setTimeout(done), done)
}

/** Uses a part once it is loaded; shows a toast if loading fails. */
export const withPart = <A,>(loading: Promise<A>, use: (loaded: A) => void): void => {
  const tell = (): void =>
    toast(
      <span>
        {lost().message}{' '}
        <button type="button" class="link" onClick={() => location.reload()}>
          Load it again
        </button>
      </span>,
    )
  void loading.then(use, tell)
}
