import { options } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { holder } from './source/embedded/form.ts'
import { type PageAddress, placeIn } from './url.ts'

// Where the page is: the address, and who is told when it changes.

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}

/** A page that is one file has its address after the `#`. */
const isFile = document.getElementById(holder) !== null
/** The address of now. */
export const here = (): PageAddress =>
  isFile ? placeIn(location.hash.slice(1)) : { path: location.pathname, search: location.search }

/** The whole address of a place of the page, to give to somebody else. */
export const linkTo = (href: string): string =>
  isFile ? `${location.href.replace(/#.*$/s, '')}#${href}` : location.origin + href

let hasReturned = false
/** Whether Back or Forward led to the place of now. */
export const isReturn = (): boolean => hasReturned

/** Goes to an address of the page. `replace`: Back does not come here again. */
export const go = (href: string, { replace = false }: { readonly replace?: boolean } = {}): void => {
  clearTimeout(resting)
  const { path, search } = here()
  if (href === path + search) return
  const address = isFile ? `#${href}` : href
  hasReturned &&= replace
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  tell()
}

let resting: ReturnType<typeof setTimeout> | undefined
/** How long a drag has to rest before the address says where, in milliseconds. */
const rest = 150

/** Replaces the address once nothing has moved for 150 ms: for a drag, which itself keeps what it shows. */
export const goWhenAtRest = (href: string): void => {
  clearTimeout(resting)
  resting = setTimeout(() => go(href, { replace: true }), rest)
}

/** The address, of now and whenever it changes. */
export const usePlace = (): PageAddress => {
  const [place, setPlace] = useState(here)
  useEffect(() => {
    const listener = (): void => setPlace(here())
    // Who goes back goes where that leads, whatever was about to be noted.
    const left = (): void => {
      clearTimeout(resting)
      hasReturned = true
    }
    listeners.add(listener)
    addEventListener('popstate', left)
    addEventListener('popstate', listener)
    listener()
    return () => {
      listeners.delete(listener)
      removeEventListener('popstate', left)
      removeEventListener('popstate', listener)
    }
  }, [])
  return place
}

/** Links of the page's own are followed without loading it again. */
export const followLinks = (): void => {
  document.addEventListener('click', (event) => {
    const { defaultPrevented, button, metaKey, ctrlKey, shiftKey, altKey } = event
    if (defaultPrevented || button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : undefined
    if (!link || link.origin !== location.origin || link.target || link.hasAttribute('download')) return
    if (link.pathname.startsWith('/api/')) return
    event.preventDefault()
    go(link.pathname + link.search)
    if (link.hash) document.querySelector(link.hash)?.scrollIntoView()
  })
}

/** In a page that is one file, its links lead into the file, however they are followed: in a new tab, or copied. Before anything is drawn. */
export const linkInto = (): void => {
  options.vnode = (vnode) => {
    const { href } = vnode.props as { readonly href?: unknown }
    if (vnode.type === 'a' && typeof href === 'string' && href.startsWith('/'))
      Object.assign(vnode.props, { href: `#${href}` })
  }
}
