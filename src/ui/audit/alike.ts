import type { VerificationFinding } from '../source/answers.ts'

/** Findings that say the same, in the order of the first of each: what was changed once is sent in many calls. */
export const alikeIn = (
  findings: readonly VerificationFinding[],
): readonly { readonly message: string; readonly findings: readonly VerificationFinding[] }[] =>
  [...Map.groupBy(findings, ({ message }) => message)].map(([message, alike]) => ({
    message,
    findings: alike,
  }))
