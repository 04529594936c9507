import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { announced } from '../announcer.tsx'
import type { ApiSource } from '../source/source.ts'
import { useRested } from '../states.tsx'
import { type ConversationViewState, viewOf } from '../url.ts'
import { useEffective } from './fetching/effective.ts'
import { type OutlineState, useOutline } from './fetching/outline.ts'
import { type Live, useLive } from './live.ts'
import type { EffectiveResponse } from '../source/answers.ts'

/** Where one looks from, and what is seen there. */
export interface Sight extends Live, Pick<OutlineState, 'outline' | 'overview'> {
  readonly view: ConversationViewState
  /** The position; undefined until the first answer says where the end is. */
  readonly at: number | undefined
  /** The last position that is known. */
  readonly last: number | undefined
  readonly isFollowing: boolean
  /** How many events came since the position stands. */
  readonly fresh: number
  /** What the model sees at `at`, or saw where one was until that is there; undefined before the first answer, and if the next one could not be had. */
  readonly value: EffectiveResponse | undefined
  readonly error: unknown
  readonly outlineError: unknown
  readonly isBusy: boolean
  /** Whether there was any answer. */
  readonly isAnswered: boolean
  /** Asks once more. */
  readonly again: () => void
  /** The position that something is dragged to; undefined: that of the address. */
  readonly dragged: number | undefined
  readonly drag: (position: number | undefined) => void
}

export const useSight = (source: ApiSource, id: string, search: string): Sight => {
  const view = useMemo(() => viewOf(search), [search])
  const [dragged, drag] = useState<number>()
  const [attempt, setAttempt] = useState(0)
  // Where the first answer is, if the address does not say it: what is around it is asked for then.
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
  // The rows of another position stay until the next ones are there; if these do not come, they are in the way.
  const value = error === undefined || answer?.at === at ? answer : undefined
  useEffect(() => drag(undefined), [search])

  const isFollowing = asked === undefined
  const isSettled = useRested(answer !== undefined && known !== undefined, 300) === true
  const live = useLive(source, id, isSettled ? known : undefined, grown)
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

/** How many events came since one stands, which is also said. */
const useFresh = (isFollowing: boolean, known: number | undefined, last: number | undefined): number => {
  const stood = useRef<number | undefined>(undefined)
  if (isFollowing || stood.current === undefined) stood.current = known
  const fresh = isFollowing || last === undefined ? 0 : last - (stood.current ?? last)
  useEffect(() => {
    if (fresh > 0) announced(`${fresh === 1 ? '1 new event' : `${fresh} new events`}, ${last}`)
  }, [fresh])
  return fresh
}
