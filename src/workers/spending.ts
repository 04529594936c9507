import * as E from 'fp-ts/lib/Either.js'
import { check } from '../events/check.ts'
import { originSchema } from '../events/events.ts'
import type { RecordedEvent } from '../store/port.ts'
import { emptyAccount, type Entry, type ModelUsage, withEntry } from '../turn/spending/account.ts'
import { type Prices, prices as listPrices } from '../turn/spending/prices.ts'
import { type Period, periodOf, periods } from './policy.ts'
import { fieldsIn } from './seen.ts'

/** What a tenant's steps came to in a period, which its name tells: `2026-11`, `2026-11-22` or `2026-11-22T19`. */
export interface Spent {
  readonly tenant: string
  readonly period: string
  readonly usage: ModelUsage
}

/** What has been recorded for each tenant: in this hour, on this day and in this month. */
export interface Spending {
  /** Takes in an event of a conversation that works for a tenant. */
  readonly see: (tenant: string, event: RecordedEvent) => void
  /** What the tenant's steps came to in the period of this time, ISO 8601 in UTC. */
  readonly of: (tenant: string, per: Period, time: string) => ModelUsage
  readonly carried: () => readonly Spent[]
  readonly restore: (spent: readonly Spent[]) => void
}

/** What an event adds to an account. Only what matters of it is read: a store keeps large content elsewhere. */
const entryIn = ({ type, data }: RecordedEvent): Entry | undefined => {
  if (type !== 'MessageAppended' && type !== 'Condensed') return undefined
  const fields = fieldsIn(data)
  const checked = check(originSchema, fields['origin'])
  const origin = E.isRight(checked) ? checked.right : {}
  if (type === 'Condensed') return fields['method'] === 'model' ? { type: 'condensed', origin } : undefined
  return fields['role'] === 'assistant' ? { type: 'reply', origin } : undefined
}

/** How many periods of a kind are kept: the current one, the one before it, and that of a writer whose clock is ahead. */
const kept = 3

const nothing: ModelUsage = emptyAccount.usage

export const spending = (own: Prices = {}): Spending => {
  /** By period and tenant. */
  const accounts = new Map<string, Map<string, ModelUsage>>()
  const book = { prices: { ...listPrices, ...own }, model: '' }

  const open = (period: string): Map<string, ModelUsage> => {
    const opened = new Map<string, ModelUsage>()
    accounts.set(period, opened)
    const alike = [...accounts.keys()].filter(({ length }) => length === period.length).toSorted()
    for (const old of alike.slice(0, -kept)) accounts.delete(old)
    return opened
  }
  const set = ({ tenant, period, usage }: Spent): void => {
    const its = accounts.get(period) ?? open(period)
    its.set(tenant, usage)
  }
  const of = (tenant: string, period: string): ModelUsage => accounts.get(period)?.get(tenant) ?? nothing

  return {
    see: (tenant, event) => {
      const entry = entryIn(event)
      if (!entry) return
      const time = String(fieldsIn(event.metadata)['time'])
      for (const per of periods) {
        const period = periodOf(per, time)
        const account = { ...emptyAccount, usage: { ...of(tenant, period), models: {} } }
        const { models: _, ...usage } = withEntry(account, entry, book).usage
        set({ tenant, period, usage })
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
