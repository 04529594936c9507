import { inOrder, type Parts } from './parts.ts'

// What of a request was read from the prompt cache, what was written to it, and what was neither.

/** Numbers of tokens, as counted by the API. */
export interface CacheUsage {
  readonly read: number
  readonly written: number
  /** Input neither read from the cache nor written to it. */
  readonly fresh: number
  /** Total input. */
  readonly input: number
  readonly output: number
}

/** Returns the counts in a reply's usage; undefined if there are none. */
export const usageIn = (usage: unknown): CacheUsage | undefined => {
  if (typeof usage !== 'object' || usage === null) return undefined
  const tokens = (name: string): number => {
    const value = (usage as Readonly<Record<string, unknown>>)[name]
    return typeof value === 'number' && Number.isFinite(value) ? value : 0
  }
  const read = tokens('cache_read_input_tokens')
  const written = tokens('cache_creation_input_tokens')
  const fresh = tokens('input_tokens')
  const input = fresh + read + written
  const output = tokens('output_tokens')
  return input + output === 0 ? undefined : { read, written, fresh, input, output }
}

/** A boundary in the request: everything above it was read from the cache, or is cached now. */
export interface CacheBoundary {
  readonly kind: 'read' | 'written'
  /** Place of the last block above it. */
  readonly after: string
  /** Tokens between the previous boundary and this one. */
  readonly tokens: number
  /**
   * True if the place is an estimate: the API reports only token counts, so this is the breakpoint, or without breakpoints the block,
   * that fits best.
   */
  readonly isNear: boolean
}

interface End {
  readonly path: string
  readonly isBreakpoint: boolean
  /** Number of characters from the beginning. */
  readonly characters: number
}

/** Returns the ends of the cached prefix: the last breakpoint for what is cached now; this or an earlier one for what was read. */
export const linesOf = (parts: Parts, usage: CacheUsage | undefined): readonly CacheBoundary[] => {
  if (!usage || usage.read + usage.written === 0) return []
  const { read, written } = usage
  const ends = endsOf(parts)
  const breakpoints = ends.filter(({ isBreakpoint }) => isBreakpoint)
  const last = breakpoints.at(-1)
  if (!last) return lineAt('read', nearest(ends, read / usage.input), read, true)
  if (written === 0) return lineAt('read', last, read, false)
  const upTo = nearest(breakpoints.slice(0, -1), read / (read + written), last.characters)
  return [...(read > 0 ? lineAt('read', upTo, read, true) : []), ...lineAt('written', last, written, false)]
}

const lineAt = (
  kind: CacheBoundary['kind'],
  end: End | undefined,
  tokens: number,
  isNear: boolean,
): readonly CacheBoundary[] => (end ? [{ kind, after: end.path, tokens, isNear }] : [])

const endsOf = (parts: Parts): readonly End[] => {
  let characters = 0
  return inOrder(parts).map(({ path, size, breakpoint }) => {
    characters += size
    return { path, isBreakpoint: breakpoint !== undefined, characters }
  })
}

/** Finds the end closest to this share of the characters. */
const nearest = (
  ends: readonly End[],
  share: number,
  whole = ends.at(-1)?.characters ?? 0,
): End | undefined => {
  const wanted = share * whole
  const away = ({ characters }: End): number => Math.abs(characters - wanted)
  return ends.reduce<End | undefined>(
    (best, end) => (best && away(best) <= away(end) ? best : end),
    undefined,
  )
}
