import type { BodyOf } from '../../server/client/api.ts'
import { number } from '../words.ts'

// Policies as edited in the form and as encoded in the address.

/** Fields of the policy form as typed. An empty field stands for its default. */
export interface PolicyDraft {
  readonly window: string
  /** Tokens of the window reserved for the reply. */
  readonly reserved: string
  readonly mode: 'condense' | 'truncate' | 'keep'
  /** Percentage of the window at which the context counts as full. */
  readonly percentage: string
  readonly keepLast: string
  /** Number of the newest messages whose tool results stay in the context. */
  readonly clearResults: string
  readonly cache: '' | '5m' | '1h'
}

export const modes = ['condense', 'truncate', 'keep'] as const
const noDraft: PolicyDraft = {
  window: '',
  reserved: '',
  mode: 'condense',
  percentage: '',
  keepLast: '',
  clearResults: '',
  cache: '',
}
const fields = Object.keys(noDraft) as readonly (keyof PolicyDraft)[]

/**
 * Reads a draft from a query string.
 *
 * @param window default size of the window, in tokens
 */
export const draftIn = (search: string, window: number): PolicyDraft => {
  const query = new URLSearchParams(search)
  const text = (name: keyof PolicyDraft): string => query.get(name) ?? ''
  const mode = modes.find((one) => one === text('mode')) ?? noDraft.mode
  const cache = text('cache')
  return {
    window: text('window') || String(window),
    reserved: text('reserved'),
    mode,
    percentage: text('percentage'),
    keepLast: text('keepLast'),
    clearResults: text('clearResults'),
    cache: cache === '5m' || cache === '1h' ? cache : '',
  }
}

export const queryFields = (draft: PolicyDraft): Readonly<Record<string, string>> =>
  Object.fromEntries(fields.map((name) => [name, draft[name]]))

/** Reports whether a query string contains a policy. */
export const isAsked = (search: string): boolean => new URLSearchParams(search).has('window')

const whole = (text: string): number | undefined => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined)

/** Fraction of the window that stays free. `usuallyReserved` is the default number of tokens reserved for the reply. */
const free = 0.1
const usuallyReserved = 8_192
/** Returns the smallest window that leaves room for a request, in tokens. */
const leastWindow = (reserved: number): number => Math.ceil((reserved + 1) / (1 - free))

/** Range of each numeric field, with the message for a value outside the range. */
const limits = {
  window: { least: 1, most: 999_999_999, words: 'The window must be a whole number of tokens.' },
  reserved: {
    least: 0,
    most: 999_999_999,
    words: 'The number of tokens kept for the answer must be a whole number, 0 or more.',
  },
  percentage: { least: 5, most: 100, words: 'The percentage must be a whole number from 5 to 100.' },
  keepLast: {
    least: 1,
    most: 999_999_999,
    words: 'The number of newest messages to keep must be a whole number, 1 or more.',
  },
  clearResults: {
    least: 0,
    most: 999_999_999,
    words: 'The number of newest messages with tool results must be a whole number, 0 or more.',
  },
} as const
export type NumberField = keyof typeof limits
const numbers = Object.keys(limits) as readonly NumberField[]

/** Invalid field, with a sentence that tells the user what to enter. */
export interface WrongField {
  readonly name: NumberField
  readonly words: string
}

/** Returns the invalid fields of a draft. Only the window is required. */
export const wrongIn = (draft: PolicyDraft): readonly WrongField[] => {
  const wrong = numbers.filter((name) => {
    if (name !== 'window' && draft[name].trim() === '') return false
    const value = whole(draft[name])
    return value === undefined || value < limits[name].least || value > limits[name].most
  })
  const window = whole(draft.window) ?? 0
  const reserved = whole(draft.reserved) ?? usuallyReserved
  const hasRoom = wrong.includes('window') || wrong.includes('reserved') || window >= leastWindow(reserved)
  return [
    ...wrong.map((name) => ({ name, words: limits[name].words })),
    ...(hasRoom ? [] : [{ name: 'window' as const, words: noRoom(window, reserved) }]),
  ]
}

const noRoom = (window: number, reserved: number): string => {
  const most = Math.floor(window * (1 - free)) - 1
  const less = most < 0 ? '' : `, or keep ${number(most)} or fewer for the answer`
  return `This leaves no room for a request: ${number(reserved)} tokens are for the answer, and a tenth of the window stays free. Make the window ${number(leastWindow(reserved))} or more${less}.`
}

/** Returns the policy for the API; undefined if a field is invalid. */
export const policyOf = (draft: PolicyDraft): BodyOf<'/conversations/{id}/replay'>['policy'] => {
  const [window, reserved, percentage, keepLast, cleared] = [
    draft.window,
    draft.reserved,
    draft.percentage,
    draft.keepLast,
    draft.clearResults,
  ].map(whole)
  if (window === undefined || wrongIn(draft).length > 0) return undefined
  return {
    context: {
      window,
      ...(reserved !== undefined && { reserved }),
      ...(percentage !== undefined && { percentage }),
      ...(keepLast !== undefined && { keepLast }),
    },
    mode: draft.mode,
    ...(cleared !== undefined && { clearResults: { keepLast: cleared } }),
    ...(draft.cache !== '' && { cache: draft.cache }),
  }
}

/** Returns a window, in tokens, that has room for only about 60 % of the largest request; at least 12,000. */
export const tighter = (tokens: readonly number[]): number => {
  const most = tokens.reduce((all, one) => Math.max(all, one), 0)
  return Math.max(12_000, Math.round((most * 0.6 + usuallyReserved) / (1 - free) / 1_000) * 1_000)
}
