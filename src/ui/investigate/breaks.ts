import { duration } from '../words.ts'
import type { Break } from '../source/answers.ts'

// Causes of prompt cache breaks, in words.

const words: Readonly<Record<string, string>> = {
  model: 'another model',
  tools: 'other tools',
  'tools-reordered': 'the same tools in another order',
  system: 'another system prompt',
  parameters: 'other parameters',
  edit: 'an earlier message was edited',
  condense: 'messages were condensed',
  truncate: 'messages were truncated',
  restore: 'messages were restored',
  rewind: 'a rewind',
  repair: 'the same history, rendered differently',
  'no-breakpoints': 'the call set no breakpoints',
  unexplained: 'nothing in the log explains it',
}

export const describeBreak = ({ kind, idle, also }: Break): string => {
  if (kind !== 'expired') return words[kind] ?? kind
  const beside = also === undefined ? '' : `, and ${words[also] ?? also}`
  return `it expired after ${duration(idle * 1_000)}${beside}`
}
