import { inOrder, type Parts } from './parts.ts'

// What of a request was read from the prompt cache, what was written to it, and what was neither.

/** Tokens, as the API counted them. */
export interface CacheUsage {
  readonly read: number
  readonly written: number
  /** Input that was neither. */
  readonly fresh: number
  /** All input. */
  readonly input: number
  readonly output: number
}

/** The counts in a reply's usage; undefined if there are none. */
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

/** A line in the request: what is above it was read from the cache, or is in it now. */
export interface CacheBoundary {
  readonly kind: 'read' | 'written'
  /** The place of the last block above it. */
  readonly after: string
  /** Above it, and below the line before. */
  readonly tokens: number
  /** The API says how many tokens, not which: this is the breakpoint, or without any the block, that fits best. */
  readonly isNear: boolean
}

interface End {
  readonly path: string
  readonly isBreakpoint: boolean
  /** Characters from the beginning. */
  readonly characters: number
}

/** Where the cached prefix ends: what is in the cache now at the last breakpoint, what was read at that or an earlier one. */
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

/** Where about this share of the characters has been read. */
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
