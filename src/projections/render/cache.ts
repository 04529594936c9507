import type { Block } from '../../events/blocks.ts'
import type { Report } from './repairs.ts'

const maxBreakpoints = 4

type Part = { readonly [field: string]: unknown }
/** Parts of a request in the order in which the cache sees them: tools, system blocks, each message's blocks. */
type Parts = readonly { readonly position: number; readonly content: readonly Part[] }[]

const ttlOf = (part: Part): string | undefined => {
  const control = part['cache_control']
  if (typeof control !== 'object' || control === null) return undefined
  return 'ttl' in control && control.ttl === '1h' ? '1h' : '5m'
}

const inner = (part: Part): readonly Part[] =>
  part['type'] === 'tool_result' && Array.isArray(part['content'])
    ? (part['content'] as readonly Block[])
    : []

/**
 * Takes away stored cache breakpoints that the API would refuse: all but the last four, and one-hour ones after a five-minute
 * one. Parts that need no change are returned as they are.
 */
export const limitBreakpoints = (parts: Parts, report: Report): readonly (readonly Part[])[] => {
  const ttls = parts.flatMap(({ content }) =>
    content.flatMap((part) => [...inner(part), part].flatMap((each) => ttlOf(each) ?? [])),
  )
  if (ttls.length === 0) return parts.map(({ content }) => content)
  const first = Math.max(0, ttls.length - maxBreakpoints)
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
      'a request holds four cache breakpoints at most, longer-lived ones first',
    )
    const { cache_control: _, ...rest } = whole
    return rest
  }
  return parts.map(({ position, content }) => content.map((part) => limited(part, position)))
}
