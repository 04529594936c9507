import type { Block } from '../../../events/blocks.ts'
import { createListMap, memo } from '../../memo.ts'
import type { Report } from './repairs.ts'

const maxBreakpoints = 4

type Part = { readonly [field: string]: unknown }
/** Content of a request in cache order: tools, system blocks, then the blocks of each message. */
type Parts = readonly { readonly position: number; readonly content: readonly Part[] }[]
/** A position in a request: the index of a content in `Parts`, and the index of a part in that content. */
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

const ttlsOfEach = createListMap<readonly Part[], readonly string[]>()

const hasTtl = (part: Part): boolean => ttlOf(part) !== undefined || inner(part).some(hasTtl)
const noTtls: readonly string[] = []

// Checks for breakpoints first: few contents have any, and long requests have many contents.
const ttlsOf = (content: readonly Part[]): readonly string[] =>
  content.some(hasTtl)
    ? content.flatMap((part) => [...inner(part), part].flatMap((each) => ttlOf(each) ?? []))
    : noTtls

/**
 * Removes stored cache breakpoints that the API would refuse: all but the last `most`, and any one-hour breakpoint after a five-minute
 * one. Parts that need no change stay the same objects.
 */
export const limitBreakpoints = (
  parts: Parts,
  report: Report,
  most = maxBreakpoints,
): readonly (readonly Part[])[] => {
  const contents = parts.map(({ content }) => content)
  const [tools = [], system = [], ...messages] = contents
  // The arrays of tools and system blocks may be new in each call. The messages' arrays stay the same, so their values are cached.
  const ttls = [...ttlsOf(tools), ...ttlsOf(system), ...ttlsOfEach(messages, ttlsOf).flat()]
  if (ttls.length === 0) return contents
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

/**
 * Replaces the stored cache breakpoints with new ones at the given places and with the given lifetime. An index past the end stands for
 * the last part.
 */
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
    // A compaction block must be sent back unchanged; thinking cannot carry a breakpoint.
    if (part && part['type'] !== 'compaction' && !ttlOf(part))
      placed[index] = marked(content, `${last} ${ttl}`)
  }
  return placed
}

/**
 * Returns the content with a breakpoint. The result for the same content is the same object, so that values derived from it can be
 * cached, too.
 */
const marked = memo((content: readonly Part[], place): readonly Part[] => {
  const [at, ttl] = place.split(' ')
  const index = Number(at)
  const control = ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
  return content.with(index, { ...content[index], cache_control: control })
})
