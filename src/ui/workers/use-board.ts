import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { BoardStep, BoardWorker } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'

export interface BoardView {
  readonly workers: readonly BoardWorker[]
  readonly steps: readonly BoardStep[]
  /** Time of the query, in milliseconds since 1970. */
  readonly at: number
}

export interface BoardState {
  readonly seen: BoardView | undefined
  readonly error: unknown
  readonly again: () => void
}

/** Polling interval while the page is visible, in milliseconds. */
const every = 2_000

/** Returns the workers and their steps. Polls the server, which offers no stream of worker events. */
export const useBoard = (source: ApiSource): BoardState => {
  const [state, setState] = useState<Omit<BoardState, 'again'>>({ seen: undefined, error: undefined })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const asking = new AbortController()
    const { signal } = asking
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async (): Promise<void> => {
      try {
        const [workers, turns] = await Promise.all([
          source.get(apiPathOf('/workers'), { signal }),
          source.get(apiPathOf('/steps'), { signal }),
        ])
        const seen = { workers: workers.items, steps: turns.items, at: Date.now() }
        setState({ seen, error: undefined })
      } catch (error) {
        if (!signal.aborted) setState((before) => ({ ...before, error }))
      }
      if (!signal.aborted) timer = setTimeout(next, every)
    }
    const next = (): void => {
      clearTimeout(timer)
      if (!document.hidden) void look()
    }
    document.addEventListener('visibilitychange', next)
    void look()
    return () => {
      asking.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', next)
    }
  }, [source, turn])
  return { ...state, again: () => setTurn((before) => before + 1) }
}
