import { useEffect, useState } from 'preact/hooks'
import type { ApiSource } from '../../source/source.ts'
import type { EffectiveResponse } from '../../source/answers.ts'
import { apiOf } from '../../url.ts'

/**
 * Returns the repairs that a request at the shown position needs. If the response lacks them, they are requested only after the
 * position has not changed for 400 ms, because the server must build the whole request to find them.
 */
export const useRepairs = (
  source: ApiSource,
  id: string,
  shown: EffectiveResponse | undefined,
): EffectiveResponse['repairs'] => {
  const [found, setFound] = useState<EffectiveResponse>()
  const at = shown?.at
  const isKnown = shown?.repairs !== undefined
  useEffect(() => {
    if (at === undefined || at < 0 || isKnown) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const query = { at, limit: 1, clip: 1, repairs: true }
      const path = apiOf(id, '/effective', query)
      setFound(await source.get(path, { signal: asking.signal }))
    }
    // Errors are ignored, because the rest of the page is correct without the repairs.
    const timer = setTimeout(() => void ask().catch(() => undefined), 400)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, at, isKnown])
  return shown?.repairs ?? (found?.at === at ? found?.repairs : undefined)
}
