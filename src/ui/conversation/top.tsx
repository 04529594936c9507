import { useEffect, useState } from 'preact/hooks'
import { Header } from '../header.tsx'
import type { ConnectionState } from '../source/source.ts'
import { number } from '../words.ts'
import type { Sight } from './use-sight.ts'

interface TopProps {
  readonly id: string
  readonly sight: Sight
  readonly isLive: boolean
  readonly onGo: (position: number) => void
  readonly onFollow: () => void
}

/** Shows the conversation's id, the position, and the state of the live connection. */
export const Top = ({ id, sight, isLive, onGo, onFollow }: TopProps) => {
  const { at, last, isFollowing, connection, fresh } = sight
  const [typed, setTyped] = useState<string>()
  return (
    <Header
      end={
        <>
          <form
            class="position figures"
            onSubmit={(event) => {
              event.preventDefault()
              if (typed !== undefined && /^\d+$/.test(typed)) onGo(Math.min(Number(typed), last ?? 0))
              setTyped(undefined)
              if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
            }}
          >
            <label>
              <span class="wide-only">position</span>{' '}
              <input
                id="position"
                inputMode="numeric"
                autocomplete="off"
                aria-label="Position"
                size={Math.max(3, String(last ?? '').length)}
                value={typed ?? (at === undefined ? '' : String(at))}
                onInput={(event) => setTyped(event.currentTarget.value)}
                onFocus={(event) => event.currentTarget.select()}
                onBlur={() => setTyped(undefined)}
                onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
              />
            </label>{' '}
            of {last === undefined ? '…' : number(last)}
          </form>
          {isLive && (
            <button
              type="button"
              class={`quiet connection ${isFollowing ? connection.state : 'paused'}`}
              onClick={onFollow}
              aria-pressed={isFollowing}
            >
              {isFollowing ? (
                <Connected connection={connection} />
              ) : (
                <>
                  {fresh > 0 ? `${number(fresh)} new` : 'paused'}
                  {connection.state === 'offline' && (
                    <>
                      {' · '}
                      <Connected connection={connection} />
                    </>
                  )}
                </>
              )}
            </button>
          )}
        </>
      }
    >
      <span class="slash" aria-hidden="true">
        /
      </span>
      <h1 class="place" title={id}>
        <bdi>{id}</bdi>
      </h1>
    </Header>
  )
}

const Connected = ({ connection }: { readonly connection: ConnectionState }) => {
  const [, setTick] = useState(0)
  const isWaiting = connection.state === 'reconnecting'
  useEffect(() => {
    if (!isWaiting) return undefined
    const timer = setInterval(() => setTick((before) => before + 1), 1_000)
    return () => clearInterval(timer)
  }, [isWaiting])
  switch (connection.state) {
    case 'live':
      return <>● live</>
    case 'connecting':
      return <>○ connecting</>
    case 'reconnecting':
      return <>○ reconnecting {Math.max(0, Math.ceil((connection.next - Date.now()) / 1_000))} s</>
    case 'offline':
      return (
        <>
          ○ {connection.why ? 'stopped' : 'offline'} since{' '}
          {new Date(connection.since).toLocaleTimeString('en-GB').slice(0, 5)}
        </>
      )
  }
}
