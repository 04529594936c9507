import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { announce } from '../../announcer.tsx'
import { problemOf, type ApiSource } from '../../source/source.ts'
import { type OpenSection, type SectionEntries, pieceWith } from '../rows.ts'
import { clip, page } from './sizes.ts'
import { apiOf } from '../../url.ts'

/**
 * Returns the loaded entries of each open section, by position, and `more`, which fetches the previous page. After a change of
 * position, the old entries stay until the new ones arrive.
 */
export const usePieces = (
  source: ApiSource,
  id: string,
  at: number | undefined,
  opened: readonly OpenSection[],
) => {
  const [pieces, setPieces] = useState<ReadonlyMap<string, SectionEntries>>(new Map())
  /** Conversation position at which each section was last requested. */
  const asked = useRef(new Map<string, number>())
  const open = useRef<ReadonlyMap<number, OpenSection>>(new Map())
  open.current = useMemo(() => new Map(opened.map((one) => [one.position, one])), [opened])
  const ask = async (one: OpenSection, until: number): Promise<void> => {
    const wanted = one.isGroup ? page : Math.min(page, until - one.from)
    const query = { at, abandoned: true, before: until, last: wanted, clip }
    const { items } = await source.get(apiOf(id, '/full', query))
    if (asked.current.get(keyOf(one)) !== at) return
    const isFull = items.length === wanted
    // Entries of collapsed sections are dropped, and fetched again when the section is expanded again.
    const there = new Set([...open.current.values()].map(keyOf)).add(keyOf(one))
    setPieces((before) => {
      const others = [...before].filter(([key_]) => there.has(key_))
      return new Map(others).set(keyOf(one), pieceWith(before.get(keyOf(one)), one, { items, until, isFull }))
    })
  }
  const failed = (one: OpenSection) => (problem: unknown) => {
    asked.current.delete(keyOf(one))
    announce(problemOf(problem).detail)
  }
  const key = opened.map(keyOf).join()
  useEffect(() => {
    const isOpen = new Set(opened.map(keyOf))
    for (const name of asked.current.keys()) if (!isOpen.has(name)) asked.current.delete(name)
    for (const one of opened) {
      if (at === undefined || asked.current.get(keyOf(one)) === at) continue
      asked.current.set(keyOf(one), at)
      ask(one, one.before).catch(failed(one))
    }
  }, [source, id, at, key])
  const pieceOf = useCallback(
    (position: number): SectionEntries | undefined => {
      const one = open.current.get(position)
      return one && pieces.get(keyOf(one))
    },
    [pieces, opened],
  )
  return {
    pieceOf,
    more: (position: number): void => {
      const one = open.current.get(position)
      const first = pieceOf(position)?.entries[0]
      if (one && first) ask(one, first.position).catch(failed(one))
    },
  }
}

const keyOf = ({ position, before }: OpenSection): string => `${position} ${before}`
