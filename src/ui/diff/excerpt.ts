import { gistOf, wrappedParts } from '../blocks/wrappers.ts'
import { count } from '../words.ts'
import type { DiffRowEntry } from './rows.ts'

// One-line descriptions of entries.

export interface ExcerptEntry extends DiffRowEntry {
  readonly role?: string | undefined
  readonly content?: readonly ExcerptBlock[] | undefined
  readonly messages?: readonly { readonly content: readonly ExcerptBlock[] }[] | undefined
  readonly reason?: string | undefined
  /** Paths at which the server has clipped the content. */
  readonly cuts?: readonly unknown[] | undefined
}
export interface ExcerptBlock {
  readonly type: string
  readonly [field: string]: unknown
}

/** Describes the kind of an entry: `user`, `tool call Bash`, `tool result`, `summary`. */
export const kindOf = ({ kind, role, content = [] }: ExcerptEntry): string => {
  if (kind !== 'message') return kind
  const calls = content.filter(({ type }) => type.endsWith('tool_use')).map(({ name }) => String(name))
  if (calls.length > 0) return `tool call ${[...new Set(calls)].join(', ')}`
  return content.some(({ type }) => type.endsWith('tool_result')) ? 'tool result' : (role ?? '')
}

/** Returns the colour name of an entry. */
export const inkOf = (entry: ExcerptEntry): string => {
  if (entry.kind !== 'message') return entry.kind === 'summary' ? 'condensed' : 'truncated'
  const kind = kindOf(entry)
  if (kind.startsWith('tool call')) return 'call'
  return kind === 'tool result' ? 'result' : kind
}

const contentOf = ({ content, messages = [] }: ExcerptEntry): readonly ExcerptBlock[] =>
  content ?? messages.flatMap((message) => message.content)

/** Returns the text of an entry, which may be clipped. */
export const textOf = (entry: ExcerptEntry): string =>
  contentOf(entry)
    .map(textIn)
    .filter((text) => text !== '')
    .join('\n\n')

/**
 * Returns the first 300 characters of the first non-blank text in an entry, without tags around it. For a truncation, returns the
 * reason or the number of messages left out.
 */
export const excerptOf = (entry: ExcerptEntry): string => {
  if (entry.kind === 'truncation')
    return entry.reason ?? `${count(entry.messagesHidden ?? 0, 'message')} left out`
  for (const block of contentOf(entry)) {
    const [text = ''] = wrappedParts(textIn(block).trim().slice(0, 4_000), true)
    if (text !== '') return (typeof text === 'string' ? text : gistOf(text) || text.tag).slice(0, 300)
  }
  return ''
}

const textIn = ({ type, text, thinking, input, content }: ExcerptBlock): string => {
  if (typeof text === 'string') return text
  if (type.endsWith('tool_use')) return inputIn(input)
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return (content as readonly ExcerptBlock[]).map(textIn).join(' ')
  return typeof thinking === 'string' ? thinking : ''
}

/** Formats the field values of a tool call's input, without the field names. */
const inputIn = (input: unknown): string =>
  typeof input === 'object' && input !== null ? Object.values(input).map(told).join('  ') : told(input)

const told = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
