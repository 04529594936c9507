import type { ComponentChildren } from 'preact'
import { toast } from './acts/toast.tsx'
import { openSheet, setComing } from './sheet.tsx'
import { toThrowable } from './source/source.ts'
import { holdKeys } from './use-keys.ts'

// Parts of the page that are loaded on first use. By then, the server may have stopped, or a newer version may run, whose files have
// other names.

const lost = (): Error =>
  toThrowable({
    title: 'This part of the page could not be loaded',
    detail: 'The server cannot be reached, or it now runs another version: load the page again.',
    status: 0,
  })

/**
 * Waits for a lazily loaded module (`import()`). If the module cannot be loaded, rejects with a `SourceProblem` that asks the user to
 * reload the page.
 */
export const part = <A,>(loading: Promise<A>): Promise<A> =>
  loading.catch(() => {
    throw lost()
  })

/** Opens a sheet from a lazily loaded module. Keys pressed while it loads are passed to the sheet. */
export const openPart = <A,>(loading: Promise<A>, sheetOf: (loaded: A) => ComponentChildren): void => {
  const release = holdKeys()
  setComing(true)
  withPart(loading, (loaded) => openSheet(sheetOf(loaded)))
  const done = (): void => {
    setComing(false)
    release()
  }
  // By then, the sheet has been rendered.
  void loading.then(() => setTimeout(done), done)
}

/** Calls `use` with a lazily loaded module, or shows a toast if the module cannot be loaded. */
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
