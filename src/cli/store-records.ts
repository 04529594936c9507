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

/** Returns the command that sets a rule. It does not ask, so that several can be pasted into a terminal at once. */
export const commandSetting = ({ prefix, keep, by, reason }: RetentionRule): string => {
  const duration = 'months' in keep ? `${keep.months}mo` : `${keep.days}d`
  const why = reason === undefined ? '' : ` --reason ${shellWord(reason)}`
  return `palimpsest retention --keep ${duration} --for ${shellWord(prefix)} --by ${shellWord(by)}${why}${isHalfYear(keep) ? '' : ' --force'} --yes`
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
