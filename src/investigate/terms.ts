import { isBlock, isWellShaped } from '../events/blocks.ts'
import type { Block } from '../events/block-types.ts'

// What somebody who names it must know from somewhere: paths, names of files, identifiers, ids, long numbers. Plain words may be chance.
const patterns = [
  /(?:[\w@.-]+\/)+[\w@-][\w@.-]*/g,
  /\b[\w-]{2,}\.[a-z][a-z0-9]{0,5}\b/gi,
  /\b[a-z]+[A-Z]\w*/g,
  /\b[a-z0-9]+(?:_[a-z0-9]+)+\b/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{6,}\b/gi,
  /\b\d[\d.,]{2,}\d\b/g,
]
const shortest = 4

/** The paths, identifiers, ids and long numbers in a text. */
export const termsIn = (text: string): ReadonlySet<string> =>
  new Set(
    patterns
      .flatMap((pattern) => text.match(pattern) ?? [])
      .map((term) => term.replace(/[.,]+$/, ''))
      .filter(({ length }) => length >= shortest),
  )

/** All that blocks say: texts, thinking, what tools were given and answered. */
export const wordsOf = (blocks: readonly Block[]): string => blocks.map(wordsIn).join('\n')

const wordsIn = (block: Block): string => {
  if (isBlock(block, 'text')) return block.text
  if (isBlock(block, 'thinking')) return block.thinking
  if (isBlock(block, 'tool_use')) return stringsIn(block.input).join('\n')
  if (!isBlock(block, 'tool_result')) return ''
  const { content } = block
  return Array.isArray(content)
    ? wordsOf(content.filter(isWellShaped))
    : typeof content === 'string'
      ? content
      : ''
}

/** The texts and numbers in a JSON value, however deep. */
const stringsIn = (value: unknown): readonly string[] => {
  const found: string[] = []
  const open = [value]
  for (let one = open.pop(); open.length > 0 || one !== undefined; one = open.pop()) {
    if (typeof one === 'string' || typeof one === 'number') found.push(String(one))
    else if (typeof one === 'object' && one !== null) open.push(...Object.values(one))
  }
  return found
}
