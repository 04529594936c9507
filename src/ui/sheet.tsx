import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

// Sheets: what is laid over the page for a moment. One at a time; Escape closes it, and the focus returns to where it was.

let show: ((content: ComponentChildren | undefined) => void) | undefined

/** Opens a sheet with this content (a `Sheet`), in place of the one that is open. */
export const openSheet = (content: ComponentChildren): void => show?.(content)
export const closeSheet = (): void => show?.(undefined)

/** Where sheets appear: once in the page. */
export const SheetHost = () => {
  const [content, setContent] = useState<ComponentChildren>()
  show = setContent
  return <>{content}</>
}

export interface SheetProps {
  readonly title: string
  readonly children: ComponentChildren
  /** Buttons, at the bottom. */
  readonly actions?: ComponentChildren
  /** A class for its width: `wide`. */
  readonly class?: string
  readonly onClose?: () => void
}

export const Sheet = ({ title, children, actions, class: own = '', onClose }: SheetProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  const close = (): void => {
    onClose?.()
    closeSheet()
  }
  return (
    <dialog
      ref={dialog}
      class={`sheet ${own}`}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
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
