import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { announced } from '../announcer.tsx'
import { problemOf, type Source } from '../source/source.ts'
import { apiOf, queryOf } from '../url.ts'
import type { Awaited } from '../workers/waiting.tsx'
import { type Opened, type Piece, pieceWith } from './rows.ts'
import { type StepKind, stepFrom } from './steps.ts'
import type { Effective, Full, Hidden, Outline, Overview } from './shapes.ts'

/** What is shown of a string before it is opened, in characters. */
const clip = 700
/** How often something is fetched while the position moves, in milliseconds. */
const every = 100
/** How many answers are kept to go back to. */
const kept = 60
const page = 1_000

interface Looked {
  readonly value: Effective | undefined
  readonly error: unknown
  readonly isBusy: boolean
}

/**
 * What the model sees at a position; `undefined`: the last one. While the position moves it is asked for at most once in 100 ms, what is stale is not waited for, and the last answer
 * stays until the next one is there.
 */
export const useEffective = (source: Source, id: string, at: number | undefined, attempt: number): Looked => {
  const [state, setState] = useState<Looked>({ value: undefined, error: undefined, isBusy: true })
  const known = useRef(new Map<string, Effective>())
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
      // Whoever looks for the first time does not move yet.
      const repairs = known.current.size === 0 ? true : undefined
      try {
        const answer = await wholeEffective(source, id, { at, repairs }, asking.signal, (part) =>
          setState({ value: part, error: undefined, isBusy: true }),
        )
        if (known.current.size >= kept) known.current.delete([...known.current.keys()][0] ?? '')
        known.current.set(String(answer.at), answer)
        setState({ value: answer, error: undefined, isBusy: false })
      } catch (error) {
        if (!asking.signal.aborted) setState((before) => ({ ...before, error, isBusy: false }))
      }
    }
    setState(({ value: before }) => ({ value: before, error: undefined, isBusy: true }))
    const timer = setTimeout(() => void ask(), Math.max(0, lastAsked.current + every - performance.now()))
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, at, attempt])
  return state
}

/** All pages of it; told of what is there after each. */
const wholeEffective = async (
  source: Source,
  id: string,
  { at, repairs }: { readonly at: number | undefined; readonly repairs: true | undefined },
  signal: AbortSignal,
  told: (part: Effective) => void,
): Promise<Effective> => {
  const path = (more: {
    readonly at: number | undefined
    readonly offset?: number
    readonly repairs?: true | undefined
  }) => `${apiOf(id)}/effective${queryOf({ limit: page, clip, ...more })}`
  let whole = await source.get<Effective>(path({ at, repairs }), { signal })
  while (whole.next !== undefined) {
    told(whole)
    const { items, next } = await source.get<Effective>(path({ at: whole.at, offset: whole.next }), {
      signal,
    })
    whole = { ...whole, items: [...whole.items, ...items], next }
  }
  return whole
}

/** What is changed in the request of what is shown: if that does not say it, asked for once the position has rested, as the request has to be made for it. */
export const useRepairs = (
  source: Source,
  id: string,
  shown: Effective | undefined,
): Effective['repairs'] => {
  const [found, setFound] = useState<Effective>()
  const at = shown?.at
  const isKnown = shown?.repairs !== undefined
  useEffect(() => {
    if (at === undefined || at < 0 || isKnown) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const path = `${apiOf(id)}/effective${queryOf({ at, limit: 1, clip: 1, repairs: true })}`
      setFound(await source.get<Effective>(path, { signal: asking.signal }))
    }
    // It is an addition: without it everything else is still true.
    const timer = setTimeout(() => void ask().catch(() => undefined), 400)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, at, isKnown])
  return shown?.repairs ?? (found?.at === at ? found?.repairs : undefined)
}

/** What waits at the end of a conversation. @param last undefined: the end is not looked at */
export const useWaiting = (source: Source, id: string, last: number | undefined): readonly Awaited[] => {
  const [found, setFound] = useState<{ readonly last: number; readonly items: readonly Awaited[] }>()
  useEffect(() => {
    if (last === undefined || !source.isLive) return undefined
    const asking = new AbortController()
    const ask = async (): Promise<void> => {
      const path = `${apiOf(id)}/waiting`
      const { items } = await source.get<{ readonly items: readonly Awaited[] }>(path, {
        signal: asking.signal,
      })
      setFound({ last, items })
    }
    const timer = setTimeout(() => void ask().catch(() => undefined), 400)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, last])
  return found && found.last === last ? found.items : []
}

/** The entries of what is open, by its position; `more` fetches the page before. What was there as of another position stays until the new is. */
export const usePieces = (source: Source, id: string, at: number | undefined, opened: readonly Opened[]) => {
  const [pieces, setPieces] = useState<ReadonlyMap<string, Piece>>(new Map())
  /** The position as of which each was asked for last. */
  const asked = useRef(new Map<string, number>())
  const open = useRef<ReadonlyMap<number, Opened>>(new Map())
  open.current = useMemo(() => new Map(opened.map((one) => [one.position, one])), [opened])
  const ask = async (one: Opened, until: number): Promise<void> => {
    const wanted = one.isGroup ? page : Math.min(page, until - one.from)
    const query = queryOf({ at, abandoned: true, before: until, last: wanted, clip })
    const { items } = await source.get<Full>(`${apiOf(id)}/full${query}`)
    if (asked.current.get(keyOf(one)) !== at) return
    const isFull = items.length === wanted
    // What is closed is fetched again if it is opened again.
    const there = new Set([...open.current.values()].map(keyOf)).add(keyOf(one))
    setPieces((before) => {
      const others = [...before].filter(([key_]) => there.has(key_))
      return new Map(others).set(keyOf(one), pieceWith(before.get(keyOf(one)), one, { items, until, isFull }))
    })
  }
  const failed = (one: Opened) => (problem: unknown) => {
    asked.current.delete(keyOf(one))
    announced(problemOf(problem).detail)
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
    (position: number): Piece | undefined => {
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

const keyOf = ({ position, before }: Opened): string => `${position} ${before}`

/** How long a conversation may be for its outline to be fetched whole; of longer ones a part around the position is. */
const wholeOutline = 20_000
const part = 8_000
/** How long a conversation is when there is an overview of it. */
const firstLook = 2_000

export interface Outlined {
  readonly outline: Outline | undefined
  readonly overview: Overview | undefined
  readonly error: unknown
  /** Something has been written: the last position that is known. */
  readonly grown: (last: number) => void
  readonly last: number | undefined
}

/** The outline of a conversation, or of what is around a position, kept up to date; and the overview of a long one. */
export const useOutline = (source: Source, id: string, at: number | undefined): Outlined => {
  const [outline, setOutline] = useState<Outline>()
  const [overview, setOverview] = useState<Overview>()
  const [last, setLast] = useState<number>()
  const [error, setError] = useState<unknown>()
  const [attempt, setAttempt] = useState(0)
  const end = last ?? outline?.last
  const around = at ?? end
  const isThere =
    outline !== undefined && around !== undefined && end !== undefined && covers(outline, around, end)
  useEffect(() => {
    if (isThere || around === undefined) return undefined
    const asking = new AbortController()
    const { signal } = asking
    const ask = async (): Promise<void> => {
      const { from, to } = rangeOf(around, end)
      const grows = outline && end !== undefined && end < wholeOutline && outline.from === 0
      const path = `${apiOf(id)}/outline${queryOf({ from: grows ? outline.to + 1 : from, to })}`
      const got = await source.get<Outline>(path, { signal })
      const next = grows ? joined(outline, got) : got
      setOutline(next)
      setLast((before) => Math.max(before ?? -1, got.last))
      setError(undefined)
      // The index still catches up, or this was the first look at a long conversation.
      if (got.to < Math.min(to, got.last) || (around ?? got.last) > got.to)
        setTimeout(() => signal.aborted || setAttempt(attempt + 1), got.indexed === undefined ? 0 : 250)
    }
    const timer = setTimeout(
      () => ask().catch((problem: unknown) => signal.aborted || setError(problem)),
      outline ? 60 : 0,
    )
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, isThere, isThere ? 0 : around, isThere ? 0 : end, attempt])

  const isLong = end !== undefined && end >= firstLook
  // Of a conversation that grows, the overview is fetched again once in a while.
  const size = isLong ? Math.floor(end / Math.max(100, firstLook / 4)) : undefined
  useEffect(() => {
    if (!isLong) return undefined
    const asking = new AbortController()
    source
      .get<Overview>(`${apiOf(id)}/overview?buckets=1200`, { signal: asking.signal })
      .then(setOverview, () => undefined)
    return () => asking.abort()
  }, [source, id, size])
  return {
    outline,
    overview,
    error,
    last: end,
    grown: (to) => setLast((before) => Math.max(before ?? -1, to)),
  }
}

interface Far {
  readonly outline: Outline
  readonly overview: Overview | undefined
  readonly kind: StepKind
  readonly by: 1 | -1
}

/** The next position of a kind beyond what the outline has; undefined if there is none. */
export const stepFar = async (
  source: Source,
  id: string,
  { outline, overview, kind, by }: Far,
): Promise<number | undefined> => {
  let { from, to } = outline
  for (;;) {
    const next = by > 0 ? to + 1 : from - 1
    if (next < 0 || next > outline.last) return undefined
    // The overview knows where there is no marker at all.
    const begin = kind === 'mark' && overview ? markedFrom(overview, next, by) : next
    if (begin === undefined) return undefined
    from = by > 0 ? begin : Math.max(0, begin - part)
    to = by > 0 ? Math.min(outline.last, begin + part) : begin
    const got = await source.get<Outline>(`${apiOf(id)}/outline${queryOf({ from, to })}`)
    const found = stepFrom(got, by > 0 ? from - 1 : to + 1, kind, by)
    if (found !== undefined) return found
  }
}

/** The first position, from one on (or back), of a part that has markers or rewinds. */
const markedFrom = (
  { first, markers, rewinds, last }: Overview,
  position: number,
  by: 1 | -1,
): number | undefined => {
  const ends = first.map((_, index) => (first[index + 1] ?? last + 1) - 1)
  const isMarked = (index: number): boolean => (markers[index] ?? 0) + (rewinds[index] ?? 0) > 0
  if (by > 0) {
    const index = ends.findIndex((end, part_) => end >= position && isMarked(part_))
    return index < 0 ? undefined : Math.max(position, first[index] ?? 0)
  }
  const index = first.findLastIndex((begin, part_) => begin <= position && isMarked(part_))
  return index < 0 ? undefined : Math.min(position, ends[index] ?? 0)
}

const rangeOf = (at: number, last: number | undefined): { readonly from: number; readonly to: number } => {
  if (last !== undefined && last < wholeOutline) return { from: 0, to: last }
  if (last === undefined && at < wholeOutline) return { from: 0, to: Math.max(at, firstLook) + part }
  const from = Math.max(0, Math.floor((at - part / 2) / 1_000) * 1_000)
  return { from, to: Math.min(last ?? Infinity, from + part) }
}

const covers = ({ from, to }: Outline, at: number, last: number): boolean => {
  if (last < wholeOutline) return from === 0 && to >= last
  const margin = 1_500
  return (from === 0 || at - from >= margin) && (to >= last || to - at >= margin)
}

const joined = (one: Outline, other: Outline): Outline => ({
  ...other,
  from: one.from,
  kinds: one.kinds + other.kinds,
  sizes: [...one.sizes, ...other.sizes],
  tokens: [...one.tokens, ...other.tokens],
  times: [...one.times, ...other.times],
  markers: [...one.markers, ...other.markers],
  rewinds: [...one.rewinds, ...other.rewinds],
  restores: [...one.restores, ...other.restores],
  calls: [...one.calls, ...other.calls],
})

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
