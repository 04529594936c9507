import type { Block } from '../../events/blocks.ts'
import type { Report } from './repairs.ts'

const maxBreakpoints = 4

type Part = { readonly [field: string]: unknown }
/** Parts of a request in the order in which the cache sees them: tools, system blocks, each message's blocks. */
type Parts = readonly { readonly position: number; readonly content: readonly Part[] }[]
/** A part by the index of its content in the parts, and its own in that. */
export type Place = readonly [content: number, part: number]

const ttlOf = (part: Part): string | undefined => {
  const control = part['cache_control']
  if (typeof control !== 'object' || control === null) return undefined
  return 'ttl' in control && control.ttl === '1h' ? '1h' : '5m'
}

const inner = (part: Part): readonly Part[] =>
  part['type'] === 'tool_result' && Array.isArray(part['content'])
    ? (part['content'] as readonly Block[])
    : []

const ttlsIn = (parts: Parts): readonly string[] => {
  const ttls: string[] = []
  const note = (part: Part): void => {
    const ttl = ttlOf(part)
    if (ttl) ttls.push(ttl)
  }
  for (const { content } of parts)
    for (const part of content) {
      for (const child of inner(part)) note(child)
      note(part)
    }
  return ttls
}

/**
 * Takes away stored cache breakpoints that the API would refuse: all but the last `most`, and one-hour ones after a five-minute
 * one. Parts that need no change are returned as they are.
 */
export const limitBreakpoints = (
  parts: Parts,
  report: Report,
  most = maxBreakpoints,
): readonly (readonly Part[])[] => {
  const ttls = ttlsIn(parts)
  if (ttls.length === 0) return parts.map(({ content }) => content)
  const first = Math.max(0, ttls.length - most)
  const firstShort = ttls.indexOf('5m', first)
  const isKept = (nth: number): boolean =>
    nth >= first && (ttls[nth] === '5m' || firstShort < 0 || nth < firstShort)

  let seen = 0
  const limited = (part: Part, position: number): Part => {
    const children = inner(part)
    const limitedChildren = children.map((child) => limited(child, position))
    const isSame = children.every((child, index) => child === limitedChildren[index])
    const whole = isSame ? part : { ...part, content: limitedChildren }
    if (!ttlOf(part) || isKept(seen++)) return whole
    report(
      'cache-control-dropped',
      position,
      most > 0
        ? 'a request holds four cache breakpoints at most, longer-lived ones first'
        : 'the request has cache breakpoints of its own',
    )
    const { cache_control: _, ...rest } = whole
    return rest
  }
  return parts.map(({ position, content }) => content.map((part) => limited(part, position)))
}

/** As `limitBreakpoints`, with none of the stored breakpoints, but with these, which live that long; past the end is at the end. */
export const placeBreakpoints = (
  parts: Parts,
  places: readonly Place[],
  ttl: '5m' | '1h',
  report: Report,
): readonly (readonly Part[])[] => {
  const placed = [...limitBreakpoints(parts, report, 0)]
  for (const [index, at] of places) {
    const content = placed[index] ?? []
    const last = Math.min(at, content.length - 1)
    const part = content[last]
    // A compaction block is to be sent back as it was; thinking ends nothing that is marked.
    if (part && part['type'] !== 'compaction' && !ttlOf(part))
      placed[index] = content.with(last, markedOf(part, ttl))
  }
  return placed
}

const marked = { '5m': new WeakMap<Part, Part>(), '1h': new WeakMap<Part, Part>() }

/** The same part gives the same marked one: what is derived of it can be remembered by it. */
const markedOf = (part: Part, ttl: '5m' | '1h'): Part => {
  const known = marked[ttl].get(part)
  if (known) return known
  const control = ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
  const made = { ...part, cache_control: control }
  marked[ttl].set(part, made)
  return made
}
