import { randomBytes } from 'node:crypto'
import { createLruCache } from '../store/lru.ts'

const most = 1_000

/** Keeps the session cookies of the last 1,000 browser sign-ins, since a page cannot add headers to every request. */
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
