import { useEffect, useRef, useState } from 'preact/hooks'
import type { HiddenByMarker } from '../../../core.ts'
import type { ApiSource } from '../../source/source.ts'
import { apiOf } from '../../url.ts'

/** Maximum number of markers per request. */
const most = 200

/** Returns the content that each marker hides, by the marker's position. Fetches the markers in batches, and each marker once. */
export const useHidden = (
  source: ApiSource,
  id: string,
  markers: readonly number[],
): ReadonlyMap<number, HiddenByMarker> => {
  const [known, setKnown] = useState<ReadonlyMap<number, HiddenByMarker>>(new Map())
  const asked = useRef(new Set<number>())
  useEffect(() => {
    const ask = async (some: readonly number[]): Promise<void> => {
      for (const marker of some) asked.current.add(marker)
      const path = apiOf(id, '/hidden', { markers: some })
      const { items } = await source.get(path).catch(() => ({ items: [] }))
      const told = new Map(items.map((hidden) => [hidden.marker, hidden]))
      // Markers that are not indexed yet are requested again together with the next ones.
      for (const marker of some) if (!told.has(marker)) asked.current.delete(marker)
      setKnown((before) => new Map([...before, ...told]))
    }
    const wanted = markers.filter((marker) => !asked.current.has(marker))
    for (let from = 0; from < wanted.length; from += most) void ask(wanted.slice(from, from + most))
  }, [source, id, markers.join()])
  return known
}
