import { useEffect, useState } from 'preact/hooks'
import type { WaitingCallItem } from '../../source/answers.ts'
import type { ApiSource } from '../../source/source.ts'
import { apiOf } from '../../url.ts'

/**
 * Returns the tool calls that wait for a decision at the end of a conversation; undefined until the server has answered.
 *
 * @param last last position; undefined if the end is not shown
 */
export const useWaiting = (
  source: ApiSource,
  id: string,
  last: number | undefined,
): readonly WaitingCallItem[] | undefined => {
  const [found, setFound] = useState<{ readonly last: number; readonly items: readonly WaitingCallItem[] }>()
  useEffect(() => {
    if (last === undefined || !source.isLive) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const path = apiOf(id, '/waiting')
      const { items } = await source.get(path, { signal: asking.signal })
      setFound({ last, items })
    }
    const timer = setTimeout(() => void ask().catch(() => undefined), 400)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, last])
  return found && found.last === last ? found.items : undefined
}
