import { inOrder, type Parts } from './parts.ts'

// Parts of a request that were read from the prompt cache, written to it, or neither.

/** Token counts reported by the API for a model call. */
export interface CacheUsage {
  readonly read: number
  readonly written: number
  /** Input tokens neither read from the cache nor written to it. */
  readonly fresh: number
  /** Total input tokens: `read`, `written` and `fresh`. */
  readonly input: number
  readonly output: number
}

/** Returns the token counts in a reply's usage; undefined if it has no counts. */
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

/** Boundary of the cached prefix in a request: the tokens above it were read from the cache, or were written to it. */
export interface CacheBoundary {
  readonly kind: 'read' | 'written'
  /** Path of the last block above the boundary. */
  readonly after: string
  /** Number of tokens between the previous boundary and this one. */
  readonly tokens: number
  /**
   * True if the place of the boundary is estimated. The API reports only token counts, so the boundary is placed at the breakpoint that
   * fits best, or, in a request without breakpoints, after the block that fits best.
   */
  readonly isNear: boolean
}

interface End {
  readonly path: string
  readonly isBreakpoint: boolean
  /** Number of characters from the beginning of the request to this end. */
  readonly characters: number
}

/**
 * Returns the boundaries of the cached prefix. The prefix that is cached now ends at the last breakpoint; the prefix that was read ends
 * there or at an earlier one.
 */
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

/** Finds the block whose end is closest to `share` * `whole` characters, counted from the beginning of the request. */
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
