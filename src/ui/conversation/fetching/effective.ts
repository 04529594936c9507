import { useEffect, useRef, useState } from 'preact/hooks'
import type { QueryOf } from '../../../server/client/api.ts'
import { waitForMarkdown } from '../../blocks/shown.tsx'
import type { ApiSource } from '../../source/source.ts'
import type { EffectiveResponse } from '../../source/answers.ts'
import { clip, page } from './sizes.ts'
import { apiOf } from '../../url.ts'

/** Minimum interval between requests while the position moves, in milliseconds. */
const every = 100
/** Maximum number of cached responses. */
const kept = 60

interface Looked {
  readonly value: EffectiveResponse | undefined
  readonly error: unknown
  readonly isBusy: boolean
}

/**
 * Returns the effective history at a position; `undefined` means the last one. While the position moves, at most one request is sent
 * every 100 ms and outdated responses are ignored. The previous response stays until the next one arrives.
 */
export const useEffective = (
  source: ApiSource,
  id: string,
  at: number | undefined,
  attempt: number,
): Looked => {
  const [state, setState] = useState<Looked>({ value: undefined, error: undefined, isBusy: true })
  const known = useRef(new Map<string, EffectiveResponse>())
  const lastAsked = useRef(-Infinity)
  useEffect(() => {
    const key = String(at)
    const value = at === undefined ? undefined : known.current.get(key)
    if (value) {
      setState({ value, error: undefined, isBusy: false })
      return undefined
    }
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      lastAsked.current = performance.now()
      // Only the first request includes the repairs, because the position is not moving then.
      const repairs = known.current.size === 0 ? true : undefined
      try {
        const [answer] = await Promise.all([
          wholeEffective(source, id, { at, repairs }, asking.signal, (part) =>
            setState({ value: part, error: undefined, isBusy: true }),
          ),
          waitForMarkdown(),
        ])
        if (known.current.size >= kept) known.current.delete([...known.current.keys()][0] ?? '')
        known.current.set(String(answer.at), answer)
        setState({ value: answer, error: undefined, isBusy: false })
      } catch (error) {
        if (!asking.signal.aborted) setState((before) => ({ ...before, error, isBusy: false }))
      }
    }
    // While the position moves, the state is busy already and stays the same, so that nothing is redrawn.
    setState((before) => (before.isBusy ? before : { ...before, isBusy: true }))
    const timer = setTimeout(() => void ask(), Math.max(0, lastAsked.current + every - performance.now()))
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, at, attempt])
  return state
}

/** Fetches all pages of the effective history. Passes the items fetched so far to `told` while more pages follow. */
const wholeEffective = async (
  source: ApiSource,
  id: string,
  { at, repairs }: { readonly at: number | undefined; readonly repairs: true | undefined },
  signal: AbortSignal,
  told: (part: EffectiveResponse) => void,
): Promise<EffectiveResponse> => {
  const path = (more: QueryOf<'/conversations/{id}/effective'>) =>
    apiOf(id, '/effective', { limit: page, clip, ...more })
  let whole = await source.get(path({ at, repairs }), { signal })
  while (whole.next !== undefined) {
    told(whole)
    const { items, next } = await source.get(path({ at: whole.at, offset: whole.next }), { signal })
    whole = { ...whole, items: [...whole.items, ...items], next }
  }
  return whole
}
