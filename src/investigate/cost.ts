import { z } from 'zod'
import type { Store } from '../api/promises.ts'
import { check } from '../events/check.ts'
import type { Link } from '../projections/notes.ts'
import { orThrow } from '../result/fallible.ts'
import { isTyped } from '../result/typed-error.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../agent/models/prices.ts'
import { type Cost, costOfAll } from './cost-report.ts'
import { childrenIn, familyOf, subagentsNamed } from './family.ts'
import { paidCallsIn } from './paid-calls.ts'

/** Options for `cost`. */
export interface CostOptions {
  /** Id of a conversation to be counted with its subagents. Default: every conversation. */
  readonly conversation?: string | undefined
  /** Prices that extend or override the built-in table, as in the options of a turn. */
  readonly prices?: Prices | undefined
}

const optionsSchema = z.strictObject({
  conversation: z.string().optional(),
  prices: pricesSchema.optional(),
})

/**
 * Computes the cost of model calls by conversation, model, day and tool. Counts calls on every branch, each once. Missing data is
 * reported instead of being counted as zero: `unpriced`, `uncounted`, `problems`.
 *
 * Rejects with `ConversationNotFound` or another `ReadError`, or `InvalidInput`.
 *
 * @example
 * import { cost } from 'palimpsest/investigate'
 *
 * const { total, models } = await cost(store, { conversation: 'task-42' })
 * console.log(total.usd, models.map(({ model, usd }) => [model, usd]), total.unpriced, total.uncounted)
 */
export const cost = async (
  store: Pick<Store, 'conversation' | 'conversations'>,
  options: CostOptions = {},
): Promise<Cost> => {
  await orThrow(check(optionsSchema, options))
  const { conversation } = options
  const prices = { ...listPrices, ...options.prices }
  const { ids, children, problems, missing } = await (conversation === undefined
    ? everyone(store)
    : family(store, conversation))
  const accounts = []
  for (const id of ids) {
    try {
      accounts.push({ id, paid: await paidCallsIn(store.conversation(id).events()) })
    } catch (error) {
      if (id === conversation || !isTyped(error)) throw error
      const known = problems.findIndex((one) => one.id === id)
      problems.splice(known < 0 ? problems.length : known, 1, { id, problem: error.message })
    }
  }
  return { ...costOfAll(accounts, children, prices, missing), problems }
}

interface Scope {
  readonly ids: readonly string[]
  readonly children: ReadonlyMap<string, readonly string[]>
  readonly problems: { id: string; problem: string }[]
  /** Subagents that a conversation links to, but that are not in the store. */
  readonly missing: ReadonlyMap<string, readonly string[]>
}

/**
 * Returns all conversations, oldest first, so that a call repeated by a continued session is attributed to the oldest conversation that
 * contains it.
 */
const everyone = async (store: Pick<Store, 'conversations'>): Promise<Scope> => {
  const ids: string[] = []
  const all = new Set<string>()
  const links = []
  const problems = []
  for await (const { id, links: own = [], problem } of store.conversations()) {
    all.add(id)
    if (problem === undefined) ids.push(id)
    else problems.push({ id, problem })
    links.push(...own)
  }
  const missing = await missingIn(links, async (id) => all.has(id))
  return { ids: ids.toReversed(), children: childrenIn(links), problems, missing }
}

const family = async (store: Pick<Store, 'conversation'>, id: string): Promise<Scope> => {
  const children = new Map<string, readonly string[]>()
  const ids = new Set([id])
  const known: Link[] = []
  const problems: Scope['problems'] = []
  const unreadable = new Map<string, string>()
  const onUnreadable = (one: string, problem: string): void => void unreadable.set(one, problem)
  for (const each of ids) {
    let links: readonly Link[] = []
    try {
      links = await store.conversation(each).links({ onUnreadable })
    } catch (error) {
      if (each === id || !isTyped(error)) throw error
      problems.push({ id: each, problem: `its subagents cannot be read: ${error.message}` })
    }
    for (const link of links) if (link.from === each) known.push(link)
    const own = childrenIn(links.filter(({ conversation }) => conversation === each)).get(each) ?? []
    children.set(each, own)
    for (const child of own) ids.add(child)
  }
  for (const [one, problem] of unreadable)
    if (!ids.has(one))
      problems.push({ id: one, problem: `its notes do not show whether it is a subagent: ${problem}` })
  const missing = await missingIn(known, (one) => store.conversation(one).exists())
  return { ids: familyOf(id, children), children, problems, missing }
}

const missingIn = async (
  links: Iterable<Link>,
  isThere: (id: string) => Promise<boolean>,
): Promise<Scope['missing']> => {
  const missing = new Map<string, readonly string[]>()
  for (const [id, named] of subagentsNamed(links)) {
    const absent = []
    for (const one of named) if (!(await isThere(one).catch(() => true))) absent.push(one)
    if (absent.length > 0) missing.set(id, absent)
  }
  return missing
}
