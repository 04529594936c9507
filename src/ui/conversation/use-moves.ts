import { useRef } from 'preact/hooks'
import { announce } from '../announcer.tsx'
import { go, goWhenAtRest } from '../router.ts'
import { problemOf, type ApiSource } from '../source/source.ts'
import { hrefs, type ConversationViewState } from '../url.ts'
import { number } from '../words.ts'
import { stepFar } from './fetching/far.ts'
import { callNameAt, type StepKind, stepFrom } from './steps.ts'
import type { Sight } from './use-sight.ts'

/** Maximum interval between two moves that count as one, in milliseconds. */
export const together = 1_000

const words: Readonly<Record<StepKind, string>> = {
  turn: 'turn',
  mark: 'marker, rewind or restore',
  call: 'call of the model',
  marker: 'marker',
  error: 'error',
}

/** Functions that navigate between views of a conversation. Each view has its own address. */
export interface Moves {
  readonly show: (change: Partial<ConversationViewState>, replace?: boolean) => void
  readonly jump: (position: number | undefined, change?: Partial<ConversationViewState>) => void
  /**
   * Moves to a position. Moves in quick succession, as during a drag, count as one, so that the browser's Back button returns to the
   * position before the first of them.
   */
  readonly move: (position: number) => void
  readonly moveBy: (by: 1 | -1) => void
  /** Goes to the next position of a kind, or to the previous one if `by` is -1. */
  readonly step: (kind: StepKind, by: 1 | -1) => void
  /** Passes the next position of a kind after `from`, or the previous one before it, to `lead`. */
  readonly seek: (kind: StepKind, by: 1 | -1, from: number, lead: (position: number) => void) => void
  /**
   * Goes to the request of the model call nearest to a position.
   *
   * @param as view of the request; by default, the readable one
   */
  readonly request: (position: number, as?: string) => void
}

export const useMoves = (source: ApiSource, id: string, sight: Sight): Moves => {
  const { view, dragged, drag, at, last, outline, overview } = sight
  const moved = useRef(-Infinity)
  const target = useRef<number | undefined>(undefined)

  const show: Moves['show'] = (change, replace = false) =>
    go(hrefs.conversation(id, { ...view, at: dragged ?? view.at, ...change }), { replace })
  const jump: Moves['jump'] = (position, change = {}) => {
    drag(undefined)
    target.current = undefined
    show({ at: position, sel: undefined, ...change })
  }
  const move: Moves['move'] = (position) => {
    if (last === undefined) return
    const to = Math.max(0, Math.min(last, position))
    const isSame = performance.now() - moved.current < together
    moved.current = performance.now()
    drag(to)
    target.current = to
    const href = hrefs.conversation(id, { ...view, at: to, sel: undefined })
    // The Back button returns to the position before a drag, not to each position during it.
    if (isSame) goWhenAtRest(href)
    else go(href)
  }
  /** Passes a response to `lead`, which navigates, unless the user has navigated in the meantime. */
  const goAfter = <T>(answer: Promise<T>, lead: (value: T) => void): void => {
    const { href } = location
    const aim = target.current
    const follow = async (): Promise<void> => {
      const value = await answer
      if (location.href === href && target.current === aim) lead(value)
    }
    follow().catch((problem: unknown) => announce(problemOf(problem).detail))
  }
  const seek: Moves['seek'] = (kind, by, from, lead) => {
    if (!outline) return
    const isInside = by > 0 ? from >= outline.from - 1 : from <= outline.to + 1
    const to = isInside ? stepFrom(outline, from, kind, by) : undefined
    if (to !== undefined) {
      lead(to)
      return
    }
    // Outside the loaded part, the search begins at its edge, or at the position if that is farther.
    const edge = isInside ? outline : { ...outline, from: from + 1, to: from, kinds: '', failed: [] }
    goAfter(stepFar(source, id, { outline: edge, overview, kind, by }), (far) => {
      if (far === undefined) announce(`No ${by > 0 ? 'later' : 'earlier'} ${words[kind]}`)
      else lead(far)
    })
  }
  return {
    show,
    jump,
    move,
    // Moves from the target of the last move, which may not be shown yet.
    moveBy: (by) => {
      const isMoving = performance.now() - moved.current < together
      const from = isMoving ? (target.current ?? at) : at
      if (from !== undefined) move(from + by)
    },
    step: (kind, by) => {
      if (at !== undefined) seek(kind, by, at, jump)
    },
    seek,
    request: (position, as) => {
      if (!outline) return
      const next = (from: number, by: 1 | -1) => stepFrom(outline, from, 'call', by)
      const reply = next(position - 1, 1) === position ? position : (next(position, 1) ?? next(position, -1))
      if (reply === undefined) return
      goAfter(callNameAt(source, id, reply), (name) => {
        if (name === undefined) announce(`No model call is known for the reply at ${number(reply)}`)
        else go(hrefs.call(id, name, as))
      })
    },
  }
}
