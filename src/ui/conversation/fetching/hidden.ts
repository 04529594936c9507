import { useEffect, useRef, useState } from 'preact/hooks'
import type { Source } from '../../source/source.ts'
import { apiOf } from '../../url.ts'
import type { Hidden } from '../shapes.ts'

/** What markers hide, by their positions: fetched once for those that are shown. */
export const useHidden = (
  source: Source,
  id: string,
  markers: readonly number[],
): ReadonlyMap<number, Hidden> => {
  const [known, setKnown] = useState<ReadonlyMap<number, Hidden>>(new Map())
  const asked = useRef(new Set<number>())
  useEffect(() => {
    for (const marker of markers) {
      if (asked.current.has(marker)) continue
      asked.current.add(marker)
      source.get<Hidden>(`${apiOf(id)}/hidden/${marker}`).then(
        (hidden) => setKnown((before) => new Map(before).set(marker, hidden)),
        () => undefined,
      )
    }
  }, [source, id, markers.join()])
  return known
}
