import { useState } from 'preact/hooks'
import { InHeader } from '../head/in-header.tsx'
import { Connection } from '../head/live.tsx'
import { openSheet, Sheet } from '../sheet.tsx'
import { perform } from '../use-keys.ts'
import { number } from '../words.ts'
import { ContinueIn } from './continue-in.tsx'
import type { Sight } from './use-sight.ts'

interface TopProps {
  readonly id: string
  readonly sight: Sight
  readonly isLive: boolean
  readonly onGo: (position: number) => void
  readonly onFollow: () => void
}

/** Shows in the head of the page where in the conversation one is, the state of the live connection, and what sends it elsewhere. */
export const Top = ({ id, sight, isLive, onGo, onFollow }: TopProps) => {
  const { at, last, isFollowing, connection, fresh } = sight
  return (
    <>
      <InHeader place="tabs">
        <PositionField at={at} last={last} onGo={onGo} />
      </InHeader>
      {isLive && (
        <InHeader place="live">
          <button
            type="button"
            class={`live-state ${isFollowing ? connection.state : 'paused'}`}
            onClick={onFollow}
            aria-pressed={isFollowing}
            title={
              isFollowing
                ? 'Following: new events are shown as they arrive'
                : 'Not following: press to follow'
            }
          >
            {!isFollowing && (fresh > 0 ? `${number(fresh)} new` : 'Paused')}
            {!isFollowing && connection.state === 'offline' && ' · '}
            {(isFollowing || connection.state === 'offline') && <Connection connection={connection} />}
          </button>
        </InHeader>
      )}
      {isLive && at !== undefined && at >= 0 && (
        <InHeader place="acts">
          <button type="button" onClick={() => perform('export')}>
            Export…
          </button>
          <button type="button" class="primary" onClick={() => openSheet(<ContinueSheet id={id} at={at} />)}>
            Continue in…
          </button>
        </InHeader>
      )}
    </>
  )
}

const ContinueSheet = ({ id, at }: { readonly id: string; readonly at: number }) => (
  <Sheet title="Continue in another program">
    <p>Each command continues this conversation from {number(at)} in that program. Nothing here changes.</p>
    <ContinueIn id={id} at={at} workspace={undefined} isOpen />
  </Sheet>
)

interface PositionFieldProps {
  readonly at: number | undefined
  readonly last: number | undefined
  readonly onGo: (position: number) => void
}

const PositionField = ({ at, last, onGo }: PositionFieldProps) => {
  const [typed, setTyped] = useState<string>()
  return (
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
        <span class="wide-only">As of</span>{' '}
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
  )
}
