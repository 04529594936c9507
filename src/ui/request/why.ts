import type { WhyResponse } from '../source/answers.ts'
import { number } from '../words.ts'

// The API's explanation of a call, as lines of text.

type Difference = WhyResponse['differences'][number]

/** Describes the earlier call with which a call is compared. */
export const beforeText = (before: number | string): string =>
  typeof before === 'number' ? `call ${number(before)}` : `the reply at ${number(Number(before.slice(1)))}`

const parts: Readonly<Record<string, string>> = { system: 'system prompt' }

/** Describes an explanation that was derived without a receipt, and lists the parts of the request that were not recorded. */
export const describeDerived = ({ unrecorded }: NonNullable<WhyResponse['derived']>): string =>
  `Derived from the log, not proven by a receipt.${unrecorded.length > 0 ? ` Not recorded: ${unrecorded.map((part) => parts[part] ?? part).join(', ')}.` : ''}`

/** Consecutive items that appeared or disappeared for the same reason. */
export interface Group extends Pick<Difference, 'change' | 'kind' | 'because'> {
  readonly first: number
  readonly last: number
  readonly items: number
  readonly tokens: number
  /** Position of the event that caused the change; undefined for a group of messages. */
  readonly event: number | undefined
}

/** Groups consecutive differences that have the same cause. Messages form one group, although each of them is its own cause. */
export const groupsOf = (differences: readonly Difference[]): readonly Group[] => {
  const groups: Group[] = []
  for (const { change, position, kind, tokens, because, event: cause } of differences) {
    const event = because === 'message' ? undefined : cause
    const last = groups.at(-1)
    const isSame =
      last?.change === change && last.kind === kind && last.because === because && last.event === event
    if (last && isSame)
      groups[groups.length - 1] = {
        ...last,
        last: position,
        items: last.items + 1,
        tokens: last.tokens + tokens,
      }
    else groups.push({ change, kind, because, event, first: position, last: position, items: 1, tokens })
  }
  return groups
}

const causes: Readonly<Record<string, string>> = {
  message: 'said since',
  condense: 'condensed by',
  edit: 'edited by',
  truncate: 'truncated by',
  restore: 'restored by',
  rewind: 'rewound by',
}

/** Describes why a group appeared or disappeared. The caller appends the position of the event to the text. */
export const causeOf = ({ because }: Pick<Group, 'because'>): string => causes[because] ?? because
