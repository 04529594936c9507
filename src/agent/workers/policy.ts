import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { budgetShape } from '../turn/options.ts'
import type { Budget } from '../turn/spending/budget.ts'
import { type Prices, pricesSchema } from '../turn/spending/prices.ts'

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

const nothing: TenantPolicy = {}

export const policyFor = (
  { tenants = {}, default: others = nothing }: WorkPolicy,
  tenant: string,
): TenantPolicy => (Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined) ?? others

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
