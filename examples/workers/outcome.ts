import { plural, shellWord } from '../../src/cli/text.ts'
import type { Audit } from './audit.ts'
import type { Played } from './play.ts'

/** What came of the demo: what happened, what the log says, and what happened outside. */
export interface Outcome extends Played, Audit {
  /** How often each call of the shop has paid. */
  readonly refunds: ReadonlyMap<string, number>
}

const paidTwice = ({ refunds }: Outcome): number => [...refunds.values()].filter((times) => times > 1).length

export const isGood = (outcome: Outcome): boolean => {
  const { doubled, misplaced, unanswered } = outcome
  return doubled.length + misplaced.length + unanswered.length + paidTwice(outcome) === 0
}

const number = (count: number): string => count.toLocaleString('en')
const line = (name: string, text: string): string => `${name.padEnd(12)}${text}`
const inSeconds = (ms: number | undefined): string => `${((ms ?? 0) / 1_000).toFixed(2)} s`

/** What is printed of it, in 80 columns. */
export const outcomeLines = (outcome: Outcome): readonly string[] => {
  const { asked, rewound, deaths, seconds, steps, replies, claims, takenOver } = outcome
  const median = takenOver[Math.floor(takenOver.length / 2)]
  const bad = [...outcome.doubled, ...outcome.misplaced, ...outcome.unanswered]
  return [
    'The log, read by somebody who knows nothing of workers:',
    '',
    line(
      'steps',
      `${number(steps)}, of which ${number(asked)} things people said, ${number(rewound)} taken back`,
    ),
    line('replies', `${number(replies)}, in ${seconds.toFixed(1)} s`),
    line('doubled', String(outcome.doubled.length)),
    line('misplaced', String(outcome.misplaced.length)),
    line('unanswered', String(outcome.unanswered.length)),
    line('refunds', `${number(outcome.refunds.size)}, paid twice: ${paidTwice(outcome)}`),
    line('killed', plural(deaths.length, 'process', 'processes')),
    line(
      'taken over',
      takenOver.length === 0
        ? 'none'
        : `${number(takenOver.length)} of ${number(claims)} claims, after ${inSeconds(median)} (p50), ${inSeconds(takenOver.at(-1))} (max)`,
    ),
    ...bad.map((text) => line('', text)),
  ]
}

/** Where to look afterwards. */
export const nextLines = (store: string, id: string): readonly string[] => [
  'What happened:',
  '',
  `  export PALIMPSEST_STORE=${shellWord(store)}`,
  '  npx palimpsest list',
  `  npx palimpsest log ${id} --all`,
]
