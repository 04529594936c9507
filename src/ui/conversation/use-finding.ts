import { useMemo, useState } from 'preact/hooks'
import type { ApiSource } from '../source/source.ts'
import type { ConversationViewState } from '../url.ts'
import { type SearchState, useHits } from './search/hits.ts'
import type { Moves } from './use-moves.ts'
import type { RowSelection } from './use-selected.ts'

export interface SearchControls {
  readonly isOpen: boolean
  /** Number of times that the user has opened the search. */
  readonly asked: number
  readonly found: SearchState
  readonly positions: readonly number[]
  readonly open: () => void
  readonly close: () => void
  readonly look: (words: string) => void
  readonly goTo: (position: number) => void
  /** Goes to the next hit after position `from`, or to the previous one if `by` is -1. Wraps around. */
  readonly step: (by: 1 | -1, from: number) => void
}

export const useFinding = (
  source: ApiSource,
  id: string,
  { find }: ConversationViewState,
  { show, jump }: Moves,
  { bring }: RowSelection,
): SearchControls => {
  const [isOpen, setOpen] = useState(find !== undefined)
  const [asked, setAsked] = useState(0)
  const found = useHits(source, id, isOpen ? find : undefined)
  const { hits } = found
  const positions = useMemo(() => hits.map(({ position }) => position), [hits])
  const goTo = (position: number): void => {
    bring(position)
    jump(position, { sel: position })
  }
  return {
    isOpen,
    asked,
    found,
    positions,
    open: () => {
      setOpen(true)
      setAsked(asked + 1)
    },
    close: () => {
      setOpen(false)
      show({ find: undefined }, true)
    },
    look: (words) => show({ find: words === '' ? undefined : words }, true),
    goTo,
    step: (by, from) => {
      const next =
        by > 0
          ? (positions.find((position) => position > from) ?? positions[0])
          : (positions.findLast((position) => position < from) ?? positions.at(-1))
      if (next !== undefined) goTo(next)
    },
  }
}
