import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { SessionResponse } from '../../server/route.ts'
import type { ApiSource } from '../source/source.ts'

let known: Promise<SessionResponse | undefined> | undefined
let forgotten = 0
/** Clears the cached session so that the next use requests it again, because signing in may change the user's rights. */
export const forgetSession = (): void => {
  known = undefined
  forgotten++
}
/** Returns a number that changes when the user signs in, because data loaded before then may belong to another user. */
export const sessionNumber = (): number => forgotten

const sessionOf = (source: ApiSource): Promise<SessionResponse | undefined> =>
  (known ??= source.get(apiPathOf('/session')).catch(() => {
    forgetSession()
    return undefined
  }))

/** Returns the user's session; undefined while it is loading, or if there is no server. */
export const useSession = (source: ApiSource): SessionResponse | undefined => {
  const [session, setSession] = useState<SessionResponse>()
  useEffect(() => {
    if (source.isLive) void sessionOf(source).then(setSession)
  }, [source])
  return session
}
