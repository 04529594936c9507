import { createHash } from 'node:crypto'
import { lazyCanonical } from './canonical.ts'
import { inside, type ApiModel, type ParsedRequest } from './request.ts'
import { ttlOf } from './rules.ts'
import { blockTokens, perMessage, perRequest, toolTokens } from './tokens.ts'

/** Input tokens of a request, as billed. */
export interface InputUsage {
  readonly input_tokens: number
  readonly cache_read_input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number
    readonly ephemeral_1h_input_tokens: number
  }
}

type Ttl = '5m' | '1h'

/** A tool or a content block. Pieces are in the order used by the cache; `until` is the number of tokens up to the end of the piece. */
interface Piece {
  readonly text: () => string
  readonly until: number
  readonly ttl: Ttl | undefined
}

const lifetimes: Readonly<Record<Ttl, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 }
/** Number of pieces before a breakpoint that are searched for a cached prefix. */
const lookback = 20

const piecesOf = ({ body, tools, system, turns }: ParsedRequest): readonly Piece[] => {
  let until = 0
  const add = (tokens: number): number => (until += tokens)
  let message = -1
  /** Settings of the messages since the last piece. */
  let settings = ''
  // If one of these changes, only the tools and the system prompt can be read from the cache.
  const along = lazyCanonical({ thinking: body.thinking, tool_choice: body['tool_choice'] })
  const pieces: Piece[] = [
    ...tools.map((tool) => ({
      text: lazyCanonical(tool),
      until: add(toolTokens(tool)),
      ttl: ttlOf(tool),
    })),
    ...system.map((block) => ({
      text: lazyCanonical(block),
      until: add(blockTokens(block)),
      ttl: ttlOf(block),
    })),
    ...turns.flatMap((turn) => {
      if (turn.settings) settings += turn.settings()
      return turn.parts.map((part) => {
        const { block, role } = part
        const isFirst = part.message !== message
        const before = `${message === -1 ? along() : ''}${settings}`
        message = part.message
        settings = ''
        // A breakpoint inside a tool result counts for the whole result.
        const ttl =
          ttlOf(block) ??
          inside(block)
            .map(ttlOf)
            .find((inner) => inner !== undefined)
        return {
          text: () => `${before}${role}${part.text()}`,
          until: add(blockTokens(block) + (isFirst ? perMessage : 0)),
          ttl,
        }
      })
    }),
  ]
  const last = pieces.at(-1)
  const ttl = last?.ttl ?? ttlOf(body)
  return last ? [...pieces.slice(0, -1), { ...last, ttl }] : pieces
}

/** Input of a request, divided into pieces, with the total number of tokens. */
export interface Input {
  readonly pieces: readonly Piece[]
  readonly tokens: number
}
export const inputOf = (request: ParsedRequest): Input => {
  const pieces = piecesOf(request)
  return { pieces, tokens: (pieces.at(-1)?.until ?? 0) + perRequest }
}

export interface PromptCache {
  /** Returns the billed input tokens of a request, and caches its prefixes up to its breakpoints. */
  readonly bill: (name: string, input: Input, model: ApiModel) => InputUsage
}

/**
 * Creates a cache of request prefixes. Each prefix expires five minutes or one hour after its last use.
 *
 * @param now returns the time in milliseconds
 */
export const promptCache = (now: () => number): PromptCache => {
  const kept = new Map<string, { readonly until: number; readonly ttl: Ttl }>()
  const isKept = (key: string): boolean => (kept.get(key)?.until ?? 0) > now()
  const keep = (key: string, ttl: Ttl): void => {
    kept.delete(key)
    kept.set(key, { until: now() + lifetimes[ttl], ttl })
  }

  return {
    bill: (name, { pieces, tokens }, { minCached }) => {
      const marks = pieces.flatMap(({ until, ttl }, at) =>
        ttl && until >= minCached ? [{ at, until, ttl }] : [],
      )
      if (marks.length === 0) return usage(tokens, 0, 0, 0)

      const hash = createHash('sha256').update(name)
      const keys = pieces
        .slice(0, (marks.at(-1)?.at ?? 0) + 1)
        .map(({ text }) => hash.update(`\n${text()}`).copy().digest('base64url'))
      const found = marks.toReversed().flatMap(({ at }) => {
        const near = keys.slice(Math.max(0, at - lookback), at + 1).findLast(isKept)
        return near === undefined ? [] : [keys.indexOf(near)]
      })[0]
      const read = found === undefined ? 0 : (pieces[found]?.until ?? 0)
      const known = found === undefined ? undefined : keys[found]
      if (known !== undefined) keep(known, kept.get(known)?.ttl ?? '5m')

      const written = { '5m': 0, '1h': 0 }
      let until = read
      for (const mark of marks) {
        if (mark.until <= read) continue
        written[mark.ttl] += mark.until - until
        until = mark.until
        keep(keys[mark.at] ?? '', mark.ttl)
      }
      for (const [key, entry] of kept) {
        if (entry.until > now()) break
        kept.delete(key)
      }
      return usage(tokens, read, written['5m'], written['1h'])
    },
  }
}

const usage = (total: number, read: number, short: number, long: number): InputUsage => ({
  input_tokens: total - read - short - long,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: short + long,
  cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
})
