import type { BodyOf } from '../../server/client/api.ts'
import { number } from '../words.ts'

// A policy as somebody edits it, and as it stands in an address.

/** Fields of the form as typed; empty ones use the default. */
export interface PolicyDraft {
  readonly window: string
  /** Tokens reserved for the answer. */
  readonly reserved: string
  readonly mode: 'condense' | 'truncate' | 'keep'
  /** Percentage of the window at which to condense. */
  readonly percentage: string
  readonly keepLast: string
  /** Number of the newest messages whose tool results are shown. */
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
 * Reads a draft from a query.
 *
 * @param window default for the window
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

/** Returns the query fields of a draft. */
export const queryFields = (draft: PolicyDraft): Readonly<Record<string, string>> =>
  Object.fromEntries(fields.map((name) => [name, draft[name]]))

/** True if a query has a policy. */
export const isAsked = (search: string): boolean => new URLSearchParams(search).has('window')

const whole = (text: string): number | undefined => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined)

/** Share of the window that stays free, and the default number of tokens reserved for the answer. */
const free = 0.1
const usuallyReserved = 8_192
/** Returns the smallest window that leaves room for a request. */
const leastWindow = (reserved: number): number => Math.ceil((reserved + 1) / (1 - free))

/** Limits of a policy's numbers, with messages. */
const limits = {
  window: { least: 1, most: 999_999_999, words: 'The window is a whole number of tokens.' },
  reserved: {
    least: 0,
    most: 999_999_999,
    words: 'What is kept for the answer is a whole number of tokens, 0 or more.',
  },
  percentage: { least: 5, most: 100, words: 'It is full at a whole number from 5 to 100.' },
  keepLast: {
    least: 1,
    most: 999_999_999,
    words: 'The newest messages to keep are a whole number, 1 or more.',
  },
  clearResults: {
    least: 0,
    most: 999_999_999,
    words: 'The newest messages with tool results are a whole number, 0 or more.',
  },
} as const
export type NumberField = keyof typeof limits
const numbers = Object.keys(limits) as readonly NumberField[]

/** A field that the server would reject, with a sentence that says what to do. */
export interface WrongField {
  readonly name: NumberField
  readonly words: string
}

/** Returns the invalid fields. Only the window is required. */
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

/** Makes the body that the API takes; undefined if it would refuse a field. */
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

/** Returns a window too small for the largest of these requests. */
export const tighter = (tokens: readonly number[]): number => {
  const most = tokens.reduce((all, one) => Math.max(all, one), 0)
  return Math.max(12_000, Math.round((most * 0.6 + usuallyReserved) / (1 - free) / 1_000) * 1_000)
}
