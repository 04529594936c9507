import type { ComponentChildren } from 'preact'
import { KeysSheet } from './keys-sheet.tsx'
import { openSheet } from './sheet.tsx'
import { hrefs } from './url.ts'

interface HeaderProps {
  /** Links and text after the product name that show where the user is. */
  readonly children?: ComponentChildren
  readonly end?: ComponentChildren
}

export const Header = ({ children, end }: HeaderProps) => (
  <header class="top">
    <a class="brand" href={hrefs.list}>
      palimpsest
    </a>
    {children}
    <span class="spacer" />
    {end}
    <button
      type="button"
      class="quiet wide-only"
      onClick={() => openSheet(<KeysSheet />)}
      aria-keyshortcuts="?"
    >
      <kbd>?</kbd> keys
    </button>
  </header>
)

interface CrumbProps {
  readonly id: string
  /** Position to link to; default: the end of the conversation. */
  readonly at?: number | undefined
  /** Name of the current view of the conversation. */
  readonly children?: ComponentChildren
}

/** Shows a link to the conversation, followed by the name of the view. */
export const Crumb = ({ id, at, children }: CrumbProps) => (
  <span class="crumb">
    <a href={hrefs.conversation(id, { at })}>
      <bdi>{id}</bdi>
    </a>{' '}
    {children}
  </span>
)
