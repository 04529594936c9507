import type { Message, Policy, Role } from '../../events/events.ts'
import { type Item, messagesOf, type SummaryItem } from '../../projections/effective.ts'
import type { Entry, EntryStatus } from '../../projections/full.ts'
import { type Paint, type TextSpan, pad, plural, thousands } from '../text.ts'
import { contentParts } from './content.ts'

export const positionPart = (position: number): TextSpan => [`${String(position).padStart(5)}  `, 'position']

const labelColumns = 11
export const labelPart = (label: string, paint: Paint): TextSpan => [pad(label, labelColumns), paint]

const rolePaints: Readonly<Record<Role, Paint>> = { user: 'user', assistant: 'assistant', system: 'system' }
const labels = { summary: 'summary', truncation: 'truncated' } as const

/** Formats an item of the history as a line: position, role, content. */
export const itemParts = (item: Item): readonly TextSpan[] => [
  positionPart(item.position),
  item.kind === 'message'
    ? labelPart(item.role, rolePaints[item.role])
    : labelPart(labels[item.kind], 'marker'),
  ...bodyParts(item),
]

/** Formats an item of the history without its position and label. */
export const bodyParts = (item: Item): readonly TextSpan[] => {
  switch (item.kind) {
    case 'message':
      return contentParts(messagesOf(item), [item.fields])
    case 'summary':
      return summaryParts(item, item.messages)
    case 'truncation':
      return truncationParts(item)
  }
}

/** The fields of a marker that describe the hidden slice. */
type Hiding = Pick<SummaryItem, 'messagesHidden' | 'covers' | 'tokens'>
interface Reasons {
  readonly policy?: Policy | undefined
  readonly reason?: string | undefined
}

export const summaryParts = (marker: Hiding & Reasons, messages: readonly Message[]): readonly TextSpan[] => [
  ...hidingParts(marker),
  ...policyParts(marker),
  ['  '],
  ...contentParts(messages),
]

export const truncationParts = ({ reason, ...marker }: Hiding & Reasons): readonly TextSpan[] => [
  ...hidingParts(marker),
  ...(reason === undefined ? [] : ([[`  ${reason}`]] as const)),
]

/** Describes the items that a marker covers. Among them may be earlier markers, which take the place of what they hide. */
const coversText = ({ first, last }: Hiding['covers'], messagesHidden: number): string => {
  if (first > last) return `from marker ${first} to ${last}`
  return messagesHidden > last - first + 1 ? `${first}..${last} and what these hid` : `${first}..${last}`
}

const hidingParts = ({ messagesHidden, covers, tokens }: Hiding): readonly TextSpan[] => [
  [`hides ${plural(messagesHidden, 'message')} (${coversText(covers, messagesHidden)})`, 'marker'],
  [`  estimated ${thousands(tokens.before)} → ${thousands(tokens.after)} tokens`, 'dim'],
]

/** Formats the limit that made a turn write a summary. Truncations need no such text, because they state their reason. */
const policyParts = ({ policy }: Reasons): readonly TextSpan[] => {
  if (!policy) return []
  const [used, allowed] = [thousands(policy.used), thousands(policy.allowed)]
  const unit = policy.of === 'context' ? 'tokens' : 'bytes'
  return [[`  ${policy.of} of ${used} ${unit}, ${allowed} allowed`, 'dim']]
}

const statusColumns = 18
const statusPaints: Readonly<Record<EntryStatus, Paint>> = {
  active: 'bold',
  condensed: 'marker',
  truncated: 'marker',
  restored: 'dim',
  abandoned: 'warning',
}

/** Formats the status of an entry, such as `active` or `condensed by 15`. */
export const statusText = ({ status, by }: Entry): string =>
  by === undefined ? status : `${status} by ${by}`

/** Formats an entry of the full history as a line: position, role, status, content. */
export const entryParts = (entry: Entry): readonly TextSpan[] => {
  const [position, label, ...body] = itemParts(entry)
  const status: TextSpan = [pad(statusText(entry), statusColumns), statusPaints[entry.status]]
  const rest = entry.status === 'active' ? body : body.map(([text]): TextSpan => [text, 'dim'])
  return [...(position ? [position] : []), ...(label ? [label] : []), status, ...rest]
}
