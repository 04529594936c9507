import { ConversationPage } from './conversation/page.tsx'
import type { Page } from './page.ts'
import { matched, type Parameters } from './url.ts'

/** A page that comes with the first load, or one that is loaded when it is first shown. */
type Route =
  | { readonly path: string; readonly page: Page }
  | { readonly path: string; readonly load: () => Promise<Page> }

/** The pages, a line each. */
const routes: readonly Route[] = [
  { path: '/', load: async () => (await import('./list/page.tsx')).ListPage },
  { path: '/workers', load: async () => (await import('./workers/page.tsx')).WorkersPage },
  { path: '/c/:id', page: ConversationPage },
  { path: '/c/:id/diff', load: async () => (await import('./diff/page.tsx')).DiffPage },
  { path: '/c/:id/compare', load: async () => (await import('./compare/page.tsx')).ComparePage },
  { path: '/c/:id/calls/:call', load: async () => (await import('./request/page.tsx')).CallPage },
]

export const routeOf = (path: string): (Route & { readonly params: Parameters }) | undefined => {
  for (const route of routes) {
    const params = matched(route.path, path)
    if (params) return { ...route, params }
  }
  return undefined
}
