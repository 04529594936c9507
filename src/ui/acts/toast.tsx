import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

// Message about the last command at the bottom of the page, shown until it is dismissed.

let show: ((content: ComponentChildren | undefined) => void) | undefined

export const toast = (content: ComponentChildren): void => show?.(content)
export const closeToast = (): void => show?.(undefined)

/** Shows toasts. The page has a single instance. */
export const ToastHost = () => {
  const [content, setContent] = useState<ComponentChildren>()
  show = setContent
  return (
    <div class="toast" role="status">
      {content !== undefined && (
        <>
          {content}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={closeToast}>
            ×
          </button>
        </>
      )}
    </div>
  )
}
