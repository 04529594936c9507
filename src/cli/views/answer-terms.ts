import type { AnswerTerms } from '../../events/events.ts'

const names = ['tenant', 'priority'] as const satisfies readonly (keyof AnswerTerms)[]

/** Formats the terms of a request for an answer; an empty string if it has none. */
export const termsText = (terms: AnswerTerms): string =>
  names.flatMap((name) => (terms[name] === undefined ? [] : [`${name} ${terms[name]}`])).join(', ')

/** Returns columns for those terms that any of the rows of a table has: their headings, and a row's texts. */
export const termsColumns = (rows: readonly AnswerTerms[]) => {
  const headings = names.filter((name) => rows.some((terms) => terms[name] !== undefined))
  return { headings, texts: (terms: AnswerTerms) => headings.map((name) => String(terms[name] ?? '')) }
}
