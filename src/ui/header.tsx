import type { ComponentChildren } from 'preact'
import { KeysSheet } from './keys-sheet.tsx'
import { openSheet } from './sheet.tsx'
import { hrefs } from './url.ts'

interface HeaderProps {
  /** Where one is, after the name: links and words. */
  readonly children?: ComponentChildren
  /** At the right end. */
  readonly end?: ComponentChildren
}

/** The line at the top of every page. */
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
  /** The position that the link leads to. Default: the end. */
  readonly at?: number | undefined
  /** What of the conversation this is. */
  readonly children?: ComponentChildren
}

/** Where one is in a conversation. */
export const Crumb = ({ id, at, children }: CrumbProps) => (
  <span class="crumb">
    <a href={hrefs.conversation(id, { at })}>
      <bdi>{id}</bdi>
    </a>{' '}
    {children}
  </span>
)
