import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { SessionResponse } from '../../server/route.ts'
import type { ApiSource } from '../source/source.ts'

let known: Promise<SessionResponse | undefined> | undefined
let forgotten = 0
/** Has it asked for again: after signing in, one may do other things. */
export const forgetSession = (): void => {
  known = undefined
  forgotten++
}
/** Another number after signing in: what was kept before may be somebody else's. */
export const sessionNumber = (): number => forgotten

const sessionOf = (source: ApiSource): Promise<SessionResponse | undefined> =>
  (known ??= source.get(apiPathOf('/session')).catch(() => {
    forgetSession()
    return undefined
  }))

/** What one may do here. Undefined until it is known, and where there is no server. */
export const useSession = (source: ApiSource): SessionResponse | undefined => {
  const [session, setSession] = useState<SessionResponse>()
  useEffect(() => {
    if (source.isLive) void sessionOf(source).then(setSession)
  }, [source])
  return session
}
