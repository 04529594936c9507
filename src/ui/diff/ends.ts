import { queryOf } from '../url.ts'

// Ends and subject of a comparison, as given in the address of the page.

/** Conversation and position at one end of a comparison. */
export interface DiffEnd {
  readonly id: string
  readonly at: number
}

/** Labels of the subjects that can be compared, by their names in addresses. */
export const subjects = {
  effective: 'what the model saw',
  full: 'everything',
  request: 'the request',
  configuration: 'configuration',
} as const
export type Subject = keyof typeof subjects
export const subjectNames = Object.keys(subjects) as readonly Subject[]

export interface Ends {
  readonly from: number
  /** Position at the end of the comparison; undefined for the last one. */
  readonly to: number | undefined
  /** Conversation of `to`; undefined if it is the conversation of `from`. */
  readonly other: string | undefined
  readonly of: Subject
}

/** Parses the address of a comparison. The parameter `to` is a position, or `other:88` for position 88 of the conversation `other`. */
export const endsOf = (id: string, search: string): Ends => {
  const query = new URLSearchParams(search)
  const [, conversation, text] = /^(?:(.+):)?(-?\d*)$/.exec(query.get('to') ?? '') ?? []
  return {
    from: whole(query.get('from')) ?? -1,
    to: whole(text),
    other: conversation === id ? undefined : conversation,
    of: subjectNames.find((name) => name === query.get('of')) ?? 'effective',
  }
}
const whole = (text: string | null | undefined): number | undefined =>
  text && /^(?:-1|\d{1,15})$/.test(text) ? Number(text) : undefined

export const hrefOf = (id: string, { from, to, other, of }: Ends): string => {
  const end = other === undefined ? to : `${other}:${to ?? ''}`
  return `/c/${encodeURIComponent(id)}/diff${queryOf({ from, to: end, of: of === 'effective' ? undefined : of })}`
}
