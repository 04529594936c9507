import { useEffect, useState } from 'preact/hooks'
import type { ConnectionState } from '../source/source.ts'
import { clock } from '../words.ts'

/** Describes the connection over which new events arrive. */
export const Connection = ({ connection }: { readonly connection: ConnectionState }) => {
  const [, setTick] = useState(0)
  const isWaiting = connection.state === 'reconnecting'
  useEffect(() => {
    if (!isWaiting) return undefined
    const timer = setInterval(() => setTick((before) => before + 1), 1_000)
    return () => clearInterval(timer)
  }, [isWaiting])
  switch (connection.state) {
    case 'live':
      return <>Live</>
    case 'connecting':
      return <>Connecting</>
    case 'reconnecting':
      return <>Reconnecting {Math.max(0, Math.ceil((connection.next - Date.now()) / 1_000))} s</>
    case 'offline':
      return (
        <>
          {connection.why ? 'Stopped' : 'Offline'} since {clock(connection.since).slice(0, 5)}
        </>
      )
  }
}
