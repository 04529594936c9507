import './header.css'
import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../server/client/api-path.ts'
import { ConversationHead } from './head/conversation-head.tsx'
import { Glyph } from './head/glyphs.tsx'
import { HeaderSlot } from './head/in-header.tsx'
import { formatKey, keymap } from './keys.ts'
import { closeSheet, openSheet, Sheet } from './sheet.tsx'
import type { ApiSource } from './source/source.ts'
import { conversationIn, hrefs } from './url.ts'
import { perform } from './use-keys.ts'
import { number } from './words.ts'

interface HeaderProps {
  readonly source: ApiSource
  readonly path: string
}

/** Shows the head of every page: where one can go, and, on pages of a conversation, which conversation it is. */
export const Header = ({ source, path }: HeaderProps) => {
  const id = conversationIn(path)
  return (
    <header class="page-head">
      <div class="top">
        <a class="brand" href={hrefs.list}>
          <Mark />
          Palimpsest
        </a>
        {source.isLive && <StoreLinks source={source} path={path} />}
        <span class="spacer" />
        <button
          type="button"
          class="search-all"
          aria-keyshortcuts={keymap.palette.keys[0]}
          onClick={() => perform('palette')}
        >
          <Glyph name="search" /> <span>Search or do anything</span>
          <kbd>{formatKey(keymap.palette.keys[0] ?? '')}</kbd>
        </button>
        <HeaderSlot place="live" />
        <button
          type="button"
          class="quiet menu"
          onClick={() => openSheet(<Menu source={source} path={path} />)}
        >
          Menu
        </button>
      </div>
      {id !== undefined && <ConversationHead key={id} {...{ source, id, path }} />}
    </header>
  )
}

const Mark = () => (
  <svg viewBox="0 0 18 18" width="18" height="18" aria-hidden="true">
    <rect x="2" y="2.5" width="14" height="2.4" rx="1.2" fill="currentColor" opacity=".28" />
    <rect x="2" y="7.8" width="14" height="2.4" rx="1.2" fill="currentColor" />
    <rect x="2" y="13.1" width="8.5" height="2.4" rx="1.2" fill="currentColor" opacity=".28" />
  </svg>
)

const links = [
  [hrefs.list, 'Conversations'],
  [hrefs.workers, 'Workers'],
  [hrefs.audit(), 'Audit'],
] as const

/** Number of workers when it was last asked for. */
let workersThen = 0

const StoreLinks = ({ source, path }: HeaderProps) => {
  const [workers, setWorkers] = useState(workersThen)
  // A conversation's first view asks for as little as possible.
  const isAsked = conversationIn(path) === undefined
  useEffect(() => {
    if (!isAsked) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const { items } = await source.get(apiPathOf('/workers'), { signal: asking.signal })
      workersThen = items.length
      setWorkers(workersThen)
    }
    ask().catch(() => undefined)
    return () => asking.abort()
  }, [source, isAsked])
  return (
    <nav aria-label="Store">
      {links.map(([href, name]) => (
        <a key={href} href={href} aria-current={href === path ? 'page' : undefined} onClick={closeSheet}>
          {name}
          {href === hrefs.workers && workers > 0 && <span class="figures"> {number(workers)}</span>}
        </a>
      ))}
    </nav>
  )
}

/** Shows on a phone what the head of the page has no room for. */
const Menu = ({ source, path }: HeaderProps) => {
  const then = (act: () => void) => (): void => {
    closeSheet()
    // Deferred, because the action may open another sheet after this one has closed.
    setTimeout(act)
  }
  return (
    <Sheet title="Menu" class="menu-sheet">
      {source.isLive && <StoreLinks source={source} path={path} />}
      <button type="button" onClick={then(() => perform('palette'))}>
        Search or do anything
      </button>
      <button type="button" onClick={then(() => perform('theme'))}>
        Switch the theme
      </button>
    </Sheet>
  )
}
