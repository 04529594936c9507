import type { VerificationFinding } from '../source/answers.ts'

/** Groups findings by message, in order of each group's first finding, because a single change may affect many calls. */
export const alikeIn = (
  findings: readonly VerificationFinding[],
): readonly { readonly message: string; readonly findings: readonly VerificationFinding[] }[] =>
  [...Map.groupBy(findings, ({ message }) => message)].map(([message, alike]) => ({
    message,
    findings: alike,
  }))
