import { type ComponentChildren, Fragment } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Bar } from './states.tsx'

// Sheets: modal dialogs over the page, one at a time. Escape closes a sheet, and the focus returns to where it was before.

let show: ((content: ComponentChildren | undefined) => void) | undefined

/** Opens a sheet, replacing an open one. */
export const openSheet = (content: ComponentChildren): void => show?.(content)
export const closeSheet = (): void => show?.(undefined)

let coming: ((isComing: boolean) => void) | undefined
/** Shows or hides the progress bar while a sheet is loading. */
export const setComing = (isComing: boolean): void => coming?.(isComing)

/** Shows the open sheet. The page has a single instance. */
export const SheetHost = () => {
  const [{ content, nth }, setShown] = useState<{
    readonly content?: ComponentChildren
    readonly nth: number
  }>({
    nth: 0,
  })
  const before = useRef<Element>(null)
  const [isComing, setIsComing] = useState(false)
  coming = setIsComing
  show = (next) => {
    if (content === undefined && next !== undefined) before.current = document.activeElement
    setShown(({ nth: last }) => ({ content: next, nth: last + 1 }))
  }
  // Elements outside the dialog can receive the focus only after the dialog has been removed.
  useLayoutEffect(() => {
    if (content === undefined && before.current instanceof HTMLElement) before.current.focus()
  }, [content])
  // The key makes every sheet a new component, even if the previous sheet was of the same kind.
  return (
    <>
      <Bar isBusy={isComing} />
      <Fragment key={nth}>{content}</Fragment>
    </>
  )
}

export interface SheetProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly actions?: ComponentChildren
  /** Additional CSS class, such as `wide`. */
  readonly class?: string
  readonly onClose?: () => void
}

export const Sheet = ({ title, children, actions, class: own = '', onClose }: SheetProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const isPressedOutside = useRef(false)
  // A layout effect, because the next keystroke is meant for the sheet.
  useLayoutEffect(() => {
    dialog.current?.showModal()
  }, [])
  const close = (): void => {
    // The browser sends `close` with a delay. By then, another sheet may be open.
    if (!dialog.current) return
    onClose?.()
    closeSheet()
  }
  return (
    <dialog
      ref={dialog}
      class={`sheet ${own}`}
      aria-label={title}
      onClose={close}
      // Closes the sheet immediately, because the next keystroke is meant for the page.
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onPointerDown={(event) => (isPressedOutside.current = event.target === dialog.current)}
      onClick={(event) =>
        isPressedOutside.current && event.target === dialog.current && dialog.current?.close()
      }
    >
      <div class="sheet-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" aria-label="esc: close" onClick={() => dialog.current?.close()}>
            esc
          </button>
        </header>
        {children}
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  )
}
