import { randomBytes } from 'node:crypto'
import { createLruCache } from '../store/lru.ts'

const most = 1_000

/** Makes a session store for browsers, as a page cannot add a token header to every request. The last 1,000 sign-ins are kept. */
export const sessions = () => {
  const tokens = createLruCache<string>(most)
  return {
    begin: (token: string): string => {
      const id = randomBytes(32).toString('base64url')
      tokens.set(id, token)
      return id
    },
    tokenOf: (id: string | undefined): string | undefined => (id === undefined ? undefined : tokens.get(id)),
  }
}
