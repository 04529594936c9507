import type { Prices } from '../agent/models/prices.ts'
import { familyOf } from './family.ts'
import { fullerCall, type PaidCall } from '../agent/context/tokens/paid-call.ts'
import type { PaidCalls } from './paid-calls.ts'
import {
  nothingOnTools,
  nothingSpent,
  sharesOf,
  type UsageTotals,
  totalsOf,
  sumOnTools,
  sumSpent,
  type ToolUsage,
} from '../agent/context/tokens/usage-totals.ts'

/** Cost of one conversation. */
export interface ConversationCost {
  readonly id: string
  /** Totals of the conversation's calls, on every branch. */
  readonly own: UsageTotals
  /** Totals including all direct and indirect subagents, each counted once. */
  readonly total: UsageTotals
  readonly subagents: readonly string[]
  /** Direct and indirect subagents that are linked, but not in this store. No sum includes them. */
  readonly missing: readonly string[]
  /** Number of calls inherited by a fork. They are counted for the conversation that made them. */
  readonly inherited: number
  /**
   * Number of calls that a continued or branched session repeats from an earlier conversation. They are counted for the earlier
   * conversation.
   */
  readonly repeated: number
}

/**
 * Cost of conversations. The entries of `models`, `days` and `tools` each add up to `total`. An entry without `model` or `tool` covers
 * calls that name no model or call no tool.
 */
export interface Cost {
  readonly conversations: readonly ConversationCost[]
  readonly total: UsageTotals
  readonly models: readonly (UsageTotals & { readonly model?: string })[]
  /** Totals by the day of the reply, in UTC: `2026-11-23`. */
  readonly days: readonly (UsageTotals & { readonly day: string })[]
  /** Usage by tool. The usage of a reply is divided among the tool calls in it. */
  readonly tools: readonly (ToolUsage & { readonly tool?: string })[]
  /**
   * Conversations with a problem, and the reason. A conversation is not counted if it cannot be read; if only its subagents are
   * unknown, the rest is counted.
   */
  readonly problems: readonly { readonly id: string; readonly problem: string }[]
}

interface Account {
  readonly id: string
  readonly paid: PaidCalls
}

interface Entry {
  readonly call: PaidCall
  readonly spent: UsageTotals
}

/** Computes the costs of conversations, in the given order. */
export const costOfAll = (
  accounts: readonly Account[],
  children: ReadonlyMap<string, readonly string[]>,
  prices: Prices,
  missing: ReadonlyMap<string, readonly string[]> = new Map(),
): Omit<Cost, 'problems'> => {
  const entries = entriesOf(accounts, prices)
  const own = new Map([...entries].map(([id, of]) => [id, sumSpent(of.map(({ spent }) => spent))]))
  const conversations = accounts.map(({ id, paid }): ConversationCost => {
    const [, ...subagents] = familyOf(id, children).filter((each) => own.has(each))
    return {
      id,
      own: sumSpent([own.get(id)].flatMap((each) => each ?? [])),
      total: sumSpent([id, ...subagents].flatMap((each) => own.get(each) ?? [])),
      subagents,
      missing: [...new Set([id, ...subagents].flatMap((each) => missing.get(each) ?? []))],
      inherited: paid.inherited,
      repeated: paid.calls.length - (entries.get(id)?.length ?? 0),
    }
  })
  const all = [...entries.values()].flat()
  return {
    conversations,
    total: sumSpent(own.values()),
    models: byKey(all, ({ call }) => call.model).map(([model, spent]) => ({
      ...(model !== undefined && { model }),
      ...spent,
    })),
    days: byKey(all, ({ call }) => call.time.slice(0, 10))
      .map(([day = '', spent]) => ({ day, ...spent }))
      .toSorted((a, b) => (a.day < b.day ? -1 : 1)),
    tools: byTool(all),
  }
}

/** Assigns each call to the first conversation that contains it. */
const entriesOf = (accounts: readonly Account[], prices: Prices): ReadonlyMap<string, readonly Entry[]> => {
  const seen = new Map<string, { call: PaidCall }>()
  const first = accounts.map(({ id, paid }) => {
    const own: { call: PaidCall }[] = []
    for (const call of paid.calls) {
      const { names = [] } = call
      const known = names.flatMap((name) => seen.get(name) ?? [])[0]
      if (known) known.call = fullerCall(known.call, call)
      const entry = known ?? { call }
      if (!known) own.push(entry)
      for (const name of names) seen.set(name, entry)
    }
    return [id, own] as const
  })
  return new Map(
    first.map(([id, own]) => [id, own.map(({ call }) => ({ call, spent: totalsOf(call, prices) }))]),
  )
}

const byKey = (
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string | undefined,
): readonly (readonly [string | undefined, UsageTotals])[] =>
  [...Map.groupBy(entries, keyOf)]
    .map(([key, of]) => [key, sumSpent(of.map(({ spent }) => spent))] as const)
    .toSorted(([, a], [, b]) => b.usd - a.usd || b.output - a.output)

const byTool = (entries: readonly Entry[]): Cost['tools'] => {
  const tools = new Map<string | undefined, ToolUsage>()
  const add = (tool: string | undefined, share: ToolUsage): void => {
    tools.set(tool, sumOnTools(tools.get(tool) ?? nothingOnTools, share))
  }
  for (const { call, spent } of entries) {
    if (call.tools.length === 0) add(undefined, { ...spent, uses: 0 })
    const shares = sharesOf(spent, call.tools.length)
    for (const [index, tool] of call.tools.entries()) {
      const counts = call.tools.indexOf(tool) === index ? spent : nothingSpent
      add(tool, { ...counts, ...shares[index], uses: 1 })
    }
  }
  return [...tools]
    .map(([tool, share]) => ({ ...(tool !== undefined && { tool }), ...share }))
    .toSorted((a, b) => b.usd - a.usd || b.output - a.output)
}
