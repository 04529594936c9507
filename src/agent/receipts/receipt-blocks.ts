import * as E from 'fp-ts/lib/Either.js'
import type { Receipt } from '../../events/events.ts'
import { beginnings, memo } from '../../projections/memo.ts'
import type { Effective, Item } from '../../projections/effective.ts'
import { fingerprintLength } from './fingerprints.ts'
import { itemPrintsOf } from './item-prints.ts'
import { type PrintList, receiptOptionsIn } from './receipt-options.ts'

/** Returns the item prints to record in a receipt: the number shared with an earlier receipt, and the remaining prints. */
export const itemPrintsIn = (effective: Effective): PrintList => {
  const prints = itemPrintsOf(effective)
  const base = baseOf(effective)
  if (!base) return { shared: 0, rest: prints }
  const shared = sharedPrefixLength(base.prints, prints)
  return { base: base.position, shared, rest: prints.slice(shared * fingerprintLength) }
}

/** Returns the number of fingerprints that two lists have in common at their beginning. */
export const sharedPrefixLength = (one: string, other: string): number => {
  let [least, most] = [0, other.length / fingerprintLength]
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (one.startsWith(other.slice(0, middle * fingerprintLength))) least = middle
    else most = middle - 1
  }
  return least
}

interface Base {
  readonly position: number
  readonly prints: string
}

/** Returns the newest reply whose keyed receipt, and every receipt that it builds on, belong to items that are still shown. */
const baseOf = ({ items }: Effective): Base | undefined => {
  const before = chains.of(items)
  const isBeginning = before !== undefined && before.shared === before.made.length
  const chain: Chain = isBeginning ? before.made : { length: 0, shown: new Map(), newest: undefined }
  const printsAt = (position: number): string | undefined => chain.shown.get(position)
  for (const item of items.slice(chain.length)) {
    const receipt = item.kind === 'message' ? item.origin?.context : undefined
    const prints = receipt?.options['keyed'] === true && fingerprintsIn(receipt, printsAt)
    if (prints === false || prints === undefined) continue
    chain.shown.set(item.position, prints)
    chain.newest = { position: item.position, prints }
  }
  chain.length = items.length
  chains.keep(items, chain)
  return chain.newest
}

/** Receipts of a history's first `length` items, as fingerprints by position. */
interface Chain {
  length: number
  readonly shown: Map<number, string>
  newest: Base | undefined
}
const chains = beginnings<Item, Chain>()

/**
 * Returns the item prints of a receipt, or the fingerprints of the blocks in one of version 0.1.0; undefined if the receipt is malformed,
 * or builds on a receipt that is missing.
 *
 * @param basePrints returns the fingerprints of the receipt at a position
 */
export const fingerprintsIn = (
  receipt: Receipt,
  basePrints: (position: number) => string | undefined,
): string | undefined => {
  const list = listIn(receipt)
  const base = list?.base === undefined ? '' : basePrints(list.base)
  return list && base !== undefined ? base.slice(0, list.shared * fingerprintLength) + list.rest : undefined
}

const listIn = memo((receipt: Receipt): PrintList | undefined => {
  const options = receiptOptionsIn(receipt)
  return E.isRight(options) ? (options.right.items ?? options.right.blocks) : undefined
})
