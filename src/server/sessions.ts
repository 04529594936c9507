import { randomBytes } from 'node:crypto'
import { remembered } from '../store/lru.ts'

const most = 1_000

/** The cookies of people who have shown a token in a browser, the last 1,000: a page cannot send headers with everything that it asks for. */
export const sessions = () => {
  const tokens = remembered<string>(most)
  return {
    begin: (token: string): string => {
      const id = randomBytes(32).toString('base64url')
      tokens.set(id, token)
      return id
    },
    tokenOf: (id: string | undefined): string | undefined => (id === undefined ? undefined : tokens.get(id)),
  }
}
