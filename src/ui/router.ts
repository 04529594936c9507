import { options } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { holder } from './source/embedded/form.ts'
import { type PageAddress, placeIn } from './url.ts'

// Address of the page, and the listeners that are called when it changes.

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}

/** True if the page is a single HTML file. Its address is then the fragment after `#`. */
const isFile = document.getElementById(holder) !== null
export const here = (): PageAddress =>
  isFile ? placeIn(location.hash.slice(1)) : { path: location.pathname, search: location.search }

/** Returns the full URL for an address of the page, to be shared. */
export const linkTo = (href: string): string =>
  isFile ? `${location.href.replace(/#.*$/s, '')}#${href}` : location.origin + href

let hasReturned = false
/** Reports whether the user reached the current address with Back or Forward. */
export const isReturn = (): boolean => hasReturned

/** Goes to an address of the page. With `replace`, the browser's Back button skips the current address. */
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
/** Time without movement after which a drag updates the address, in milliseconds. */
const rest = 150

/** Replaces the current address once this function has not been called for 150 ms. Used during drags, which keep their own state. */
export const goWhenAtRest = (href: string): void => {
  clearTimeout(resting)
  resting = setTimeout(() => go(href, { replace: true }), rest)
}

/** Returns the current address, and redraws the component when it changes. */
export const usePlace = (): PageAddress => {
  const [place, setPlace] = useState(here)
  useEffect(() => {
    const listener = (): void => setPlace(here())
    // Back and Forward cancel a pending change of the address.
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

/** Handles clicks on links within the page without reloading it. */
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
 * Rewrites links of a single-file page to fragments, so that they also work when copied or opened in a new tab. Must run before the
 * first render.
 */
export const linkInto = (): void => {
  const before = options.vnode?.bind(options)
  options.vnode = (vnode) => {
    before?.(vnode)
    const { href } = vnode.props as { readonly href?: unknown }
    if (vnode.type === 'a' && typeof href === 'string' && href.startsWith('/'))
      Object.assign(vnode.props, { href: `#${href}` })
  }
}
