import { useEffect, useState } from 'preact/hooks'
import type { Source } from '../source/source.ts'
import type { Session } from './preview.ts'

let known: Promise<Session | undefined> | undefined
const sessionOf = (source: Source): Promise<Session | undefined> =>
  (known ??= source.get<Session>('/session').catch(() => undefined))

/** What one may do here. Undefined until it is known, and where there is no server. */
export const useSession = (source: Source): Session | undefined => {
  const [session, setSession] = useState<Session>()
  useEffect(() => {
    if (source.isLive) void sessionOf(source).then(setSession)
  }, [source])
  return session
}
