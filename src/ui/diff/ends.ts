import { queryOf } from '../url.ts'

// What is compared, as the address of the page says it.

/** A position of a conversation. */
export interface DiffEnd {
  readonly id: string
  readonly at: number
}

/** Subjects that can be compared, by their names in addresses, with their labels. */
export const subjects = {
  effective: 'what the model saw',
  full: 'all that happened',
  request: 'the request',
  configuration: 'configuration',
} as const
export type Subject = keyof typeof subjects
export const subjectNames = Object.keys(subjects) as readonly Subject[]

export interface Ends {
  readonly from: number
  /** Undefined for the last position. */
  readonly to: number | undefined
  /** Conversation of `to`, if it is another one. */
  readonly other: string | undefined
  readonly of: Subject
}

/** Parses the ends of a comparison. `to` is a position, or `other:88` for a position of another conversation. */
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

/** Returns the address of a comparison. */
export const hrefOf = (id: string, { from, to, other, of }: Ends): string => {
  const end = other === undefined ? to : `${other}:${to ?? ''}`
  return `/c/${encodeURIComponent(id)}/diff${queryOf({ from, to: end, of: of === 'effective' ? undefined : of })}`
}
