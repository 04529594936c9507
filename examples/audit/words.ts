import { plural, shellWord } from '../../src/cli/text.ts'
import type { AuditProblem } from '../../src/index.ts'
import type { Made } from './made.ts'
import type { Tampering } from './tamperings.ts'

const field = (name: string, text: string): string => `   ${name.padEnd(10)}${text}`

/** What there is before anybody touches it. */
export const beginningLines = (
  { key, events, requests }: Made,
  problems: number,
  bundle: readonly string[],
): readonly string[] => [
  'A store with a sealed ledger, whose checkpoints are kept in a folder elsewhere.',
  `The auditor got the verifier key when the ledger began:`,
  '',
  `   ${key}`,
  '',
  `0. Nothing was done`,
  field('audit', plural(problems, 'problem')),
  field('bundle', `${plural(events, 'event')} and ${plural(requests, 'request')}: ${bundle.at(-1)}`),
  '',
]

/** The first problem of the kind that it should be. */
export const caughtBy = ({ kind }: Tampering, found: readonly AuditProblem[]): AuditProblem | undefined =>
  found.find((problem) => problem.kind === kind)

export const caseLines = (
  number: number,
  tampering: Tampering,
  found: readonly AuditProblem[],
): readonly string[] => {
  const caught = caughtBy(tampering, found)
  const isInChain = found.some(({ kind }) => kind === 'conversation' || kind === 'receipt')
  return [
    `${number}. ${tampering.what}`,
    field('done', tampering.how),
    ...(isInChain ? [] : [field('', 'hash chain and receipts show nothing')]),
    caught ? field('CAUGHT', `by ${tampering.noticedBy}`) : field('MISSED', `by ${tampering.noticedBy}`),
    ...(caught ? [field('', messageOf(caught))] : []),
    '',
  ]
}

const messageOf = ({ conversation, revision, message }: AuditProblem): string =>
  `${conversation === undefined ? '' : `${conversation}${revision === undefined ? '' : `, event ${revision}`}: `}${message}`

export const endLines = ({ folder, anchor, key }: Made, caught: number, all: number): readonly string[] => [
  `${caught} of ${all} caught. To look for yourself:`,
  '',
  `   npx palimpsest audit verify --store ${shellWord(`sqlite:${folder}/tampered-4.db`)} \\`,
  `     --anchor ${shellWord(anchor)} --key ${key}`,
  `   python3 ${shellWord(`${folder}/evidence/verify.py`)} ${shellWord(`${folder}/evidence`)} \\`,
  `     --key ${key}`,
]
