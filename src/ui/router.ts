import { options } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { holder } from './source/embedded/form.ts'
import { type PageAddress, placeIn } from './url.ts'

// Where the page is: the address, and who is told when it changes.

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}

/** True if the page is a single file: its address is after the `#`. */
const isFile = document.getElementById(holder) !== null
/** Returns the current address. */
export const here = (): PageAddress =>
  isFile ? placeIn(location.hash.slice(1)) : { path: location.pathname, search: location.search }

/** Returns the full URL of a place on the page, for sharing. */
export const linkTo = (href: string): string =>
  isFile ? `${location.href.replace(/#.*$/s, '')}#${href}` : location.origin + href

let hasReturned = false
/** True if the current place was reached by Back or Forward. */
export const isReturn = (): boolean => hasReturned

/** Navigates to an address of the page. `replace`: Back does not return here. */
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
/** Time for which a drag must pause before the address is updated, in milliseconds. */
const rest = 150

/** Replaces the address once nothing has moved for 150 ms: for a drag, which keeps its own state. */
export const goWhenAtRest = (href: string): void => {
  clearTimeout(resting)
  resting = setTimeout(() => go(href, { replace: true }), rest)
}

/** Returns the current address, updated when it changes. */
export const usePlace = (): PageAddress => {
  const [place, setPlace] = useState(here)
  useEffect(() => {
    const listener = (): void => setPlace(here())
    // Going back leads where it leads, despite what was about to be noted.
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

/** Follows links within the page without reloading it. */
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

/**
 * Makes links point into the page if it is a single file, so that they also work in a new tab or copied. Must run before the first
 * render.
 */
export const linkInto = (): void => {
  options.vnode = (vnode) => {
    const { href } = vnode.props as { readonly href?: unknown }
    if (vnode.type === 'a' && typeof href === 'string' && href.startsWith('/'))
      Object.assign(vnode.props, { href: `#${href}` })
  }
}
