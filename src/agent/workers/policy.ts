import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { checkJson } from '../../events/check.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { budgetShape } from '../turn/options.ts'
import type { Budget } from '../turn/spending/budget.ts'
import { type Prices, pricesSchema } from '../turn/spending/prices.ts'

/** An hour, a day or a month of the calendar, in UTC. */
export type BudgetPeriod = 'hour' | 'day' | 'month'

/** What the steps of a tenant may come to in each period, counted from the recorded replies and summaries. */
export interface TenantBudget extends Budget {
  readonly per: BudgetPeriod
}

/** What a tenant may have of the workers. */
export interface TenantPolicy {
  /** How many of its steps may be in progress at once, with all workers. Default: any number. */
  readonly limit?: number | undefined
  /** Its share of the slots, relative to other tenants that have something to do. Default 1. */
  readonly weight?: number | undefined
  /** Once it is spent, no step begins until the next period; steps in progress may exceed it. */
  readonly budget?: TenantBudget | undefined
}

/** Who gets what. The same for all workers: each decides for itself, by the same log. */
export interface WorkPolicy {
  /** By the `tenant` that requests name; `''` is for requests that name none. */
  readonly tenants?: { readonly [tenant: string]: TenantPolicy } | undefined
  /** For each tenant that is not among these. */
  readonly default?: TenantPolicy | undefined
  /** As in a turn: prices of models that the table of this version does not have, or to use instead. */
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

/** The path of an error begins with `policy`. */
export const checkedPolicy = (policy: WorkPolicy = {}): E.Either<InvalidInput, WorkPolicy> => {
  const checked = checkJson(optionSchema, { policy })
  return E.isLeft(checked) ? checked : E.right(checked.right.policy as WorkPolicy)
}

const nothing: TenantPolicy = {}

export const policyFor = (
  { tenants = {}, default: others = nothing }: WorkPolicy,
  tenant: string,
): TenantPolicy => (Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined) ?? others

const lengths: Readonly<Record<BudgetPeriod, number>> = { month: 7, day: 10, hour: 13 }

/** The period of a time, ISO 8601 in UTC, by name: `2026-11-22T19`. */
export const periodOf = (per: BudgetPeriod, time: string): string => time.slice(0, lengths[per])

/** When the period of a time ends, in milliseconds since 1970. */
export const endOf = (per: BudgetPeriod, time: number): number => {
  const date = new Date(time)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (per === 'month') return Date.UTC(year, month + 1)
  return per === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month, day, date.getUTCHours() + 1)
}
