import type { ComponentChildren } from 'preact'
import { KeysSheet } from './keys-sheet.tsx'
import { openSheet } from './sheet.tsx'
import { hrefs } from './url.ts'

interface HeaderProps {
  /** Links and text after the name that show the place. */
  readonly children?: ComponentChildren
  /** Content at the right end. */
  readonly end?: ComponentChildren
}

/** Shows the line at the top of every page. */
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
  /** Position of the link's target. Default: the end. */
  readonly at?: number | undefined
  /** Name of this part of the conversation. */
  readonly children?: ComponentChildren
}

/** Shows the place in a conversation. */
export const Crumb = ({ id, at, children }: CrumbProps) => (
  <span class="crumb">
    <a href={hrefs.conversation(id, { at })}>
      <bdi>{id}</bdi>
    </a>{' '}
    {children}
  </span>
)
