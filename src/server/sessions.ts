import { randomBytes } from 'node:crypto'

const most = 1_000

/** The cookies of people who have shown a token in a browser, the last 1,000: a page cannot send headers with everything that it asks for. */
export const sessions = () => {
  const tokens = new Map<string, string>()
  return {
    begin: (token: string): string => {
      const id = randomBytes(32).toString('base64url')
      tokens.set(id, token)
      for (const [oldest] of tokens) {
        if (tokens.size <= most) break
        tokens.delete(oldest)
      }
      return id
    },
    tokenOf: (id: string | undefined): string | undefined => (id === undefined ? undefined : tokens.get(id)),
  }
}
