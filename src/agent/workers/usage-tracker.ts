import * as E from 'fp-ts/lib/Either.js'
import { check } from '../../events/check.ts'
import { acceptsData } from '../../events/accept.ts'
import { type Origin, originSchema } from '../../events/events.ts'
import type { Fields } from '../../events/json.ts'
import {
  emptyAccount,
  addEstimates,
  type AccountEntry,
  type ModelUsage,
  withEntry,
} from '../turn/spending/account.ts'
import { type Prices, prices as listPrices } from '../turn/spending/prices.ts'
import { sumOf } from '../turn/spending/usage.ts'
import { type BudgetPeriod, periodOf, periods } from './policy.ts'
import type { ReadEvent } from './seen-event.ts'

/** Usage of a tenant's steps in a period. `period` has the form `2026-11`, `2026-11-22` or `2026-11-22T19`. */
export interface PeriodUsage {
  readonly tenant: string
  readonly period: string
  readonly usage: ModelUsage
}

/** Tracker of each tenant's recorded usage in the current hour, day and month. */
export interface UsageTracker {
  /** Adds the usage recorded in an event of a conversation to the conversation's tenant. */
  readonly see: (tenant: string, event: ReadEvent) => void
  /** Returns the usage of the tenant's steps in the period that contains this time (ISO 8601 in UTC). */
  readonly of: (tenant: string, per: BudgetPeriod, time: string) => ModelUsage
  readonly carried: () => readonly PeriodUsage[]
  readonly restore: (spent: readonly PeriodUsage[]) => void
}

const originIn = (type: string, fields: Fields): Origin => {
  const { origin } = fields
  if (acceptsData(type, fields)) return origin ?? {}
  const checked = check(originSchema, origin)
  return E.isRight(checked) ? checked.right : {}
}

/** Returns the account entry for an event, if any. Reads only the relevant fields, because a store keeps large content elsewhere. */
const entryIn = ({ type, data }: ReadEvent): AccountEntry | undefined => {
  if (type === 'Condensed' && data['method'] === 'model')
    return { type: 'condensed', origin: originIn(type, data) }
  return type === 'MessageAppended' && data['role'] === 'assistant'
    ? { type: 'reply', origin: originIn(type, data) }
    : undefined
}

/** Number of periods kept of each kind: the current one, the previous one, and one for a writer whose clock is ahead. */
const kept = 3

const nothing: ModelUsage = emptyAccount.usage

const together = (one: ModelUsage, more: ModelUsage): ModelUsage => ({
  ...sumOf(one, more),
  calls: one.calls + more.calls,
  ...addEstimates(one.estimated, more.estimated),
  ...(one.usd !== undefined && more.usd !== undefined && { usd: one.usd + more.usd }),
})

export const createUsageTracker = (own: Prices = {}): UsageTracker => {
  /** Usage by period and tenant. */
  const accounts = new Map<string, Map<string, ModelUsage>>()
  const book = { prices: { ...listPrices, ...own }, model: '' }

  const open = (period: string): Map<string, ModelUsage> => {
    const opened = new Map<string, ModelUsage>()
    accounts.set(period, opened)
    const alike = [...accounts.keys()].filter(({ length }) => length === period.length).toSorted()
    for (const old of alike.slice(0, -kept)) accounts.delete(old)
    return opened
  }
  const set = ({ tenant, period, usage }: PeriodUsage): void => {
    const its = accounts.get(period) ?? open(period)
    its.set(tenant, usage)
  }
  const of = (tenant: string, period: string): ModelUsage => accounts.get(period)?.get(tenant) ?? nothing

  return {
    see: (tenant, event) => {
      const entry = entryIn(event)
      if (!entry) return
      const time = String(event.metadata['time'])
      const { usage } = withEntry(emptyAccount, entry, book)
      for (const per of periods) {
        const period = periodOf(per, time)
        set({ tenant, period, usage: together(of(tenant, period), usage) })
      }
    },
    of: (tenant, per, time) => of(tenant, periodOf(per, time)),
    carried: () =>
      [...accounts].flatMap(([period, its]) =>
        [...its].map(([tenant, usage]) => ({ tenant, period, usage })),
      ),
    restore: (spent) => {
      for (const each of spent) set(each)
    },
  }
}
