import { ConversationPage } from './conversation/page.tsx'
import type { PageComponent } from './page.ts'
import { matchPath, type Parameters } from './url.ts'

/** Path pattern of a page, with its component or with a function that loads the component on first use. */
type Route =
  | { readonly path: string; readonly page: PageComponent }
  | { readonly path: string; readonly load: () => Promise<PageComponent> }

const routes: readonly Route[] = [
  { path: '/', load: async () => (await import('./list/page.tsx')).ListPage },
  { path: '/workers', load: async () => (await import('./workers/page.tsx')).WorkersPage },
  { path: '/c/:id', page: ConversationPage },
  { path: '/c/:id/diff', load: async () => (await import('./diff/page.tsx')).DiffPage },
  { path: '/c/:id/compare', load: async () => (await import('./compare/page.tsx')).ComparePage },
  { path: '/audit', load: async () => (await import('./audit/store.tsx')).StoreAuditPage },
  { path: '/c/:id/audit', load: async () => (await import('./audit/page.tsx')).AuditPage },
  { path: '/c/:id/tokens', load: async () => (await import('./investigate/tokens.tsx')).TokensPage },
  { path: '/c/:id/bisect', load: async () => (await import('./investigate/bisections.tsx')).BisectionsPage },
  {
    path: '/c/:id/bisect/:bisection',
    load: async () => (await import('./investigate/bisect.tsx')).BisectionPage,
  },
  { path: '/c/:id/calls', load: async () => (await import('./calls/page.tsx')).CallsPage },
  { path: '/c/:id/calls/:call', load: async () => (await import('./request/page.tsx')).CallPage },
]

export const routeOf = (path: string): (Route & { readonly params: Parameters }) | undefined => {
  for (const route of routes) {
    const params = matchPath(route.path, path)
    if (params) return { ...route, params }
  }
  return undefined
}
