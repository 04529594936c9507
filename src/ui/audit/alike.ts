import type { VerificationFinding } from '../source/answers.ts'

/** Groups findings with the same message, in the order of the first of each: one change affects many calls. */
export const alikeIn = (
  findings: readonly VerificationFinding[],
): readonly { readonly message: string; readonly findings: readonly VerificationFinding[] }[] =>
  [...Map.groupBy(findings, ({ message }) => message)].map(([message, alike]) => ({
    message,
    findings: alike,
  }))
