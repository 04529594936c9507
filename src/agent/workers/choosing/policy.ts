import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson, check } from '../../../events/check.ts'
import type { InvalidInput } from '../../../events/errors.ts'
import { budgetShape } from '../../turn/options.ts'
import type { Budget } from '../../turn/spending/budget.ts'
import { type Prices, pricesSchema, prices as listPrices } from '../../models/prices.ts'
import { acceptsData } from '../../../events/accept.ts'
import { type Origin, originSchema } from '../../../events/events.ts'
import type { Fields } from '../../../events/json.ts'
import {
  emptyAccount,
  addEstimates,
  type AccountEntry,
  type ModelUsage,
  withEntry,
} from '../../turn/spending/account.ts'
import { sumOf } from '../../models/usage.ts'
import type { ReadEvent } from '../board/seen-event.ts'

/** Period of a budget: a calendar hour, day or month in UTC. */
export type BudgetPeriod = 'hour' | 'day' | 'month'

/** Limits on the usage of a tenant's steps in each period, counted from the recorded replies and summaries. */
export interface TenantBudget extends Budget {
  readonly per: BudgetPeriod
}

/** A tenant's limits and its share of the workers. */
export interface TenantPolicy {
  /** Maximum number of the tenant's steps in progress at once, across all workers. Default: no limit. */
  readonly limit?: number | undefined
  /** Share of the slots, relative to other tenants with work. Default 1. */
  readonly weight?: number | undefined
  /** Budget per period. Once it is spent, the tenant's steps do not begin until the next period; steps in progress may exceed it. */
  readonly budget?: TenantBudget | undefined
}

/** Allocation of workers to tenants. Use the same policy for all workers, because each applies it independently to the same log. */
export interface WorkPolicy {
  /** Policies by the `tenant` named in requests; `''` applies to requests without a tenant. */
  readonly tenants?: { readonly [tenant: string]: TenantPolicy } | undefined
  /** Policy for every other tenant. */
  readonly default?: TenantPolicy | undefined
  /** Prices for models missing from the built-in table, or overriding it, as in the options of a turn. */
  readonly prices?: Prices | undefined
}

export const periods: readonly [BudgetPeriod, ...BudgetPeriod[]] = ['hour', 'day', 'month']

const tenantSchema = z.strictObject({
  limit: z.int().min(1).optional(),
  weight: z.number().positive().optional(),
  budget: z.strictObject({ ...budgetShape, per: z.enum(periods) }).optional(),
})
const optionSchema = z.object({
  policy: z.strictObject({
    tenants: z.record(z.string(), tenantSchema).optional(),
    default: tenantSchema.optional(),
    prices: pricesSchema.optional(),
  }),
})

/** Checks a policy. The path of an error begins with `policy`. */
export const checkPolicy = (policy: WorkPolicy = {}): E.Either<InvalidInput, WorkPolicy> => {
  const checked = checkJson(optionSchema, { policy })
  return E.isLeft(checked) ? checked : E.right(checked.right.policy as WorkPolicy)
}

export const policyFor = ({ tenants = {}, default: others = {} }: WorkPolicy, tenant: string): TenantPolicy =>
  (Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined) ?? others

const lengths: Readonly<Record<BudgetPeriod, number>> = { month: 7, day: 10, hour: 13 }

/** Returns the name of the period that contains a time (ISO 8601 in UTC), such as `2026-11-22T19`. */
export const periodOf = (per: BudgetPeriod, time: string): string => time.slice(0, lengths[per])

/** Returns the end of the period that contains a time, in milliseconds since 1970. */
export const endOf = (per: BudgetPeriod, time: number): number => {
  const date = new Date(time)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (per === 'month') return Date.UTC(year, month + 1)
  return per === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month, day, date.getUTCHours() + 1)
}

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
