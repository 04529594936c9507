import { useEffect, useRef, useState } from 'preact/hooks'
import type { Connection, Source } from '../source/source.ts'
import { apiOf } from '../url.ts'

/** Follows what is written to a conversation. @param last the position after which to begin: undefined until it is known */
export const useLive = (
  source: Source,
  id: string,
  last: number | undefined,
  grown: (position: number) => void,
): Connection => {
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const tell = useRef(grown)
  tell.current = grown
  const isKnown = last !== undefined
  useEffect(() => {
    if (!isKnown || !source.isLive) return undefined
    return source.follow(`${apiOf(id)}/events?clip=1`, last, {
      connection: setConnection,
      told: ({ data }) => {
        const position = (data as { readonly position?: unknown } | undefined)?.position
        if (typeof position === 'number') tell.current(position)
      },
    })
  }, [source, id, isKnown])
  return connection
}
