import { useState } from 'preact/hooks'
import { go } from '../router.ts'
import { closeSheet, Sheet } from '../sheet.tsx'
import { hrefs } from '../url.ts'
import { number } from '../words.ts'

interface DiffSheetProps {
  readonly conversation: string
  readonly at: number
  readonly last: number
  /** Suggested positions, each with a description. */
  readonly offers: readonly (readonly [position: number, words: string])[]
}

export const DiffSheet = ({ conversation, at, last, offers }: DiffSheetProps) => {
  const [typed, setTyped] = useState('')
  const hrefOf = (other: number): string => hrefs.diff(conversation, Math.min(at, other), Math.max(at, other))
  return (
    <Sheet title={`Compare ${number(at)} with`}>
      <form
        class="ask"
        onSubmit={(event) => {
          event.preventDefault()
          if (!/^\d+$/.test(typed)) return
          closeSheet()
          go(hrefOf(Math.min(last, Number(typed))))
        }}
      >
        <input
          inputMode="numeric"
          aria-label="The other position"
          placeholder="position"
          autofocus
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Compare
        </button>
      </form>
      <ul class="offers">
        {offers.map(([position, words]) => (
          <li key={words}>
            <a href={hrefOf(position)} onClick={closeSheet}>
              <bdi class="figures">{number(position)}</bdi>
            </a>{' '}
            <span class="faint">{words}</span>
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
