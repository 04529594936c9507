import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { announce } from '../announcer.tsx'
import type { ApiSource } from '../source/source.ts'
import { useRested } from '../states.tsx'
import { type ConversationViewState, viewOf } from '../url.ts'
import { useEffective } from './fetching/effective.ts'
import { type OutlineState, useOutline } from './fetching/outline.ts'
import { type Live, useLive } from './live.ts'
import type { EffectiveResponse } from '../source/answers.ts'

/** Current position and the data shown there. */
export interface Sight extends Live, Pick<OutlineState, 'outline' | 'overview'> {
  readonly view: ConversationViewState
  /** Current position; undefined until the first response reports the last position. */
  readonly at: number | undefined
  /** Last known position of the conversation. */
  readonly last: number | undefined
  readonly isFollowing: boolean
  /** Number of events written since the user stopped following the conversation; 0 while following. */
  readonly fresh: number
  /**
   * Effective history at `at`. Until it arrives, the effective history at the previous position; undefined before the first response
   * and after an error.
   */
  readonly value: EffectiveResponse | undefined
  readonly error: unknown
  readonly outlineError: unknown
  readonly isBusy: boolean
  /** True once the first response has arrived. */
  readonly isAnswered: boolean
  readonly again: () => void
  /** Position during a drag; undefined if the position in the address applies. */
  readonly dragged: number | undefined
  readonly drag: (position: number | undefined) => void
}

export const useSight = (source: ApiSource, id: string, search: string, onErased: () => void): Sight => {
  const view = useMemo(() => viewOf(search), [search])
  const [dragged, drag] = useState<number>()
  const [attempt, setAttempt] = useState(0)
  // Position of the first response. If the address names no position, the outline is requested around this one.
  const [answered, setAnswered] = useState<number>()
  const first = useRef<number | undefined>(undefined)
  const asked = dragged ?? view.at
  const outlined = useOutline(source, id, asked ?? answered)
  const { outline, overview, error: outlineError, last: known, grown } = outlined
  const following =
    first.current !== undefined && known !== undefined && known > first.current ? known : undefined
  const { value: answer, error, isBusy } = useEffective(source, id, asked ?? following, attempt)
  if (asked === undefined) first.current ??= answer?.at
  useEffect(() => setAnswered((before) => before ?? answer?.at), [answer?.at])
  const last = known ?? answer?.at
  const at = asked ?? following ?? answer?.at
  // The rows of the previous position stay until the next ones arrive. If the request fails, they are removed.
  const value = error === undefined || answer?.at === at ? answer : undefined
  useEffect(() => drag(undefined), [search])

  const isFollowing = asked === undefined
  const isSettled = useRested(answer !== undefined && known !== undefined, 300) === true
  const live = useLive(source, id, isSettled ? known : undefined, grown, onErased)
  const fresh = useFresh(isFollowing, known, last)
  return {
    ...live,
    view,
    at,
    last,
    isFollowing,
    fresh,
    outline,
    overview,
    value,
    error,
    outlineError,
    isBusy,
    dragged,
    drag,
    isAnswered: answer !== undefined,
    again: () => {
      setAttempt(attempt + 1)
      outlined.again()
    },
  }
}

/** Returns the number of events written since the user stopped following the conversation, and announces it to screen readers. */
const useFresh = (isFollowing: boolean, known: number | undefined, last: number | undefined): number => {
  const stood = useRef<number | undefined>(undefined)
  if (isFollowing || stood.current === undefined) stood.current = known
  const fresh = isFollowing || last === undefined ? 0 : last - (stood.current ?? last)
  useEffect(() => {
    if (fresh > 0) announce(`${fresh === 1 ? '1 new event' : `${fresh} new events`}, ${last}`)
  }, [fresh])
  return fresh
}
