import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { RetentionRule } from '../index.ts'
import { isHalfYear } from '../events/retention-events.ts'
import { openEvents } from '../api/open.ts'
import { toPromise } from '../api/promises.ts'
import { run } from '../result/fallible.ts'
import type { Host } from './host.ts'
import { openNamedStore } from './shell.ts'
import { shellWord } from './text.ts'

// Records of a store beside its conversations, which a copy or an older backup may lack.

/** Maximum number of rules whose commands are shown. */
export const mostRules = 20

/** Reads the retention rules of a store. */
export const rulesIn = async (host: Host, url: string): Promise<readonly RetentionRule[]> => {
  const store = await openNamedStore(host, url, 'existing')
  return store.retention.rules().finally(store.close)
}

/** Rules of one store that another lacks, or has with another duration. */
export interface RuleDifferences {
  readonly missing: readonly RetentionRule[]
  /** Rules with another duration in the other store, and that store's rules. */
  readonly differing: readonly { readonly rule: RetentionRule; readonly other: RetentionRule }[]
}

/** Finds the rules that another store lacks, or has with another duration. */
export const compareRules = (
  rules: readonly RetentionRule[],
  others: readonly RetentionRule[],
): RuleDifferences => {
  const pairs = rules.map((rule) => ({ rule, other: others.find(({ prefix }) => prefix === rule.prefix) }))
  return {
    missing: pairs.flatMap(({ rule, other }) => (other ? [] : [rule])),
    differing: pairs.flatMap(({ rule, other }) =>
      other && !isDeepStrictEqual(rule.keep, other.keep) ? [{ rule, other }] : [],
    ),
  }
}

/** Returns the lines about rules that differ, with the commands that set them as in the store `from`. */
export const differingLines = (
  differing: RuleDifferences['differing'],
  { from, to, on }: { readonly from: string; readonly to: string; readonly on: string },
): readonly string[] => [
  ...differing
    .slice(0, mostRules)
    .flatMap(({ rule, other }) => [
      `retention rule ${shellWord(rule.prefix)}: ${durationOf(rule)} in the ${from}, ${durationOf(other)} in the ${to}, which stays. To set the rule of the ${from}:`,
      `  ${commandSetting(rule)}${on}`,
    ]),
  ...(differing.length > mostRules ? ['  … palimpsest retention lists the others'] : []),
]

const durationOf = ({ keep }: RetentionRule): string =>
  'months' in keep ? `${keep.months}mo` : `${keep.days}d`

/** Returns the command that sets a rule. It does not ask, so that several can be pasted into a terminal at once. */
export const commandSetting = (rule: RetentionRule): string => {
  const { prefix, keep, by, reason } = rule
  const why = reason === undefined ? '' : ` --reason ${shellWord(reason)}`
  return `palimpsest retention --keep ${durationOf(rule)} --for ${shellWord(prefix)} --by ${shellWord(by)}${why}${isHalfYear(keep) ? '' : ' --force'} --yes`
}

/** Returns the origin of the ledger of a store, or undefined if it has none or its beginning cannot be read. */
export const originIn = async (url: string): Promise<string | undefined> => {
  const { begunLast } = await import('../audit/ledger/log.ts')
  const store = await toPromise(openEvents(url, false))
  try {
    const begun = await run(begunLast(store))
    return E.isRight(begun) ? begun.right?.origin : undefined
  } finally {
    await store.close()()
  }
}
