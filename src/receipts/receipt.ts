import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../events/check.ts'
import type { InvalidInput } from '../events/errors.ts'
import type { DeepReadonly, Receipt } from '../events/events.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { sharedBeginning } from '../projections/remembering.ts'
import type { Rendered } from '../projections/render/renderer.ts'
import { digestOf, textOf } from './canonical.ts'
import {
  fingerprintLength,
  fingerprintsOf,
  partsOf,
  type PlacedPart,
  withoutBreakpoint,
} from './fingerprints.ts'
import type { RequestOptions } from './request.ts'

const count = z.int().min(0)

const receiptOptionsSchema = z.strictObject({
  renderer: count,
  systemMessages: z.boolean().exactOptional(),
  cache: z.enum(['5m', '1h']).exactOptional(),
  /** Beta features that were asked for. */
  betas: z.array(z.string()).exactOptional(),
  /** The newest container on the path: it was sent, or `left` out because it had expired, or was refused. */
  container: z
    .strictObject({ id: z.string(), left: z.enum(['expired', 'refused']).exactOptional() })
    .exactOptional(),
  /** How many repairs of each kind the request took. */
  repairs: z.record(z.string(), count),
  /** The fingerprints of the request's blocks: the first `shared` ones of the request that `base` answers, then `rest`. */
  blocks: z.strictObject({
    /** Position of an earlier reply with a receipt. */
    base: count.exactOptional(),
    shared: count,
    rest: z.string().regex(/^([\w-]{6})*$/, { error: 'is not a list of fingerprints' }),
  }),
})

/** The options of a reply's receipt: how its request was made, and what an audit needs to say where another one differs. */
export type ReceiptOptions = DeepReadonly<z.infer<typeof receiptOptionsSchema>>
type Blocks = ReceiptOptions['blocks']

export const receiptOptionsIn = ({ options }: Receipt): E.Either<InvalidInput, ReceiptOptions> =>
  check(receiptOptionsSchema, options)

/**
 * What is recorded with the reply to a request: enough to make the request again from the log, and to prove that it is the same.
 * It does not grow with the conversation.
 *
 * @param effective what the request was made of; the receipt's position is its
 * @param along what is sent along, and cannot be told from the log alone
 */
export const receiptOf = (
  effective: Effective,
  rendered: Rendered,
  options: RequestOptions,
  along: Pick<ReceiptOptions, 'betas' | 'container'> = {},
): Receipt => ({
  position: effective.at,
  digest: digestOf(rendered),
  options: {
    ...options,
    ...along,
    repairs: countsOf(rendered),
    blocks: blocksOf(effective, fingerprintsOf(rendered)),
  },
})

const countsOf = ({ repairs }: Rendered): ReceiptOptions['repairs'] => {
  const counts: Record<string, number> = {}
  for (const { kind } of repairs) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

const blocksOf = (effective: Effective, prints: string): Blocks => {
  const base = baseOf(effective)
  if (!base) return { shared: 0, rest: prints }
  const shared = sharedBy(base.prints, prints)
  return { base: base.position, shared, rest: prints.slice(shared * fingerprintLength) }
}

/** With how many of the same fingerprints two lists begin. */
const sharedBy = (one: string, other: string): number => {
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

/** The newest reply that is shown with a receipt, and with every receipt that this one continues. */
const baseOf = ({ items }: Effective): Base | undefined => {
  const [first] = items
  const before = first && chains.get(first)
  const isBeginning = before && sharedBeginning(before.items, items) === before.items.length
  const chain: Chain = isBeginning ? before : { items: [], shown: new Map(), newest: undefined }
  const printsAt = (position: number): string | undefined => chain.shown.get(position)
  for (const item of items.slice(chain.items.length)) {
    const receipt = item.kind === 'message' ? item.origin?.context : undefined
    const prints = receipt && fingerprintsIn(receipt, printsAt)
    if (prints === undefined) continue
    chain.shown.set(item.position, prints)
    chain.newest = { position: item.position, prints }
  }
  chain.items = items
  if (first) chains.set(first, chain)
  return chain.newest
}

/** The receipts of a history, as far as they were read. */
interface Chain {
  items: readonly Item[]
  readonly shown: Map<number, string>
  newest: Base | undefined
}
const chains = new WeakMap<Item, Chain>()

interface Read {
  readonly blocks: Blocks | undefined
  readonly base: string
  readonly prints: string
}
const known = new WeakMap<Receipt, Read>()

/**
 * The fingerprints of the blocks of a receipt's request; undefined where the receipt holds none, or continues one that there is not.
 *
 * @param basePrints those of the receipt at a position
 */
export const fingerprintsIn = (
  receipt: Receipt,
  basePrints: (position: number) => string | undefined,
): string | undefined => {
  const before = known.get(receipt)
  const blocks = before ? before.blocks : blocksIn(receipt)
  const base = blocks?.base === undefined ? '' : basePrints(blocks.base)
  if (!blocks || base === undefined) return undefined
  if (before?.base === base) return before.prints
  const prints = base.slice(0, blocks.shared * fingerprintLength) + blocks.rest
  known.set(receipt, { blocks, base, prints })
  return prints
}

const blocksIn = (receipt: Receipt): Blocks | undefined => {
  const options = receiptOptionsIn(receipt)
  return E.isRight(options) ? options.right.blocks : undefined
}

/** How a request that was made again is not the one that a receipt is of. */
export type Difference =
  /** The first block that differs, by its place, and what stands there now: nothing, or a type and the beginning of its JSON. */
  | { readonly kind: 'block'; readonly path: string; readonly now?: string }
  /** The blocks are the same: cache breakpoints differ, or the digest is of something else. */
  | { readonly kind: 'breakpoints' }
  /** The receipt does not say where. */
  | { readonly kind: 'digest' }
  /** The request is the same, and so many repairs of each kind are not what it was made with. */
  | { readonly kind: 'repairs'; readonly repairs: ReceiptOptions['repairs'] }
  /** The request is the same, and the newest container on the path is not the one that the receipt names. */
  | { readonly kind: 'container'; readonly named: string | undefined; readonly newest: string | undefined }

/** @param prints fingerprints of the receipt's request, where they are known */
export const compareReceipt = (
  rendered: Rendered,
  { digest }: Receipt,
  { repairs }: ReceiptOptions,
  prints: string | undefined,
): Difference | undefined => {
  if (digestOf(rendered) === digest) {
    const now = countsOf(rendered)
    return isDeepStrictEqual(now, repairs) ? undefined : { kind: 'repairs', repairs: now }
  }
  return prints === undefined ? { kind: 'digest' } : firstDifference(rendered, prints)
}

const excerptLength = 80

const firstDifference = (rendered: Rendered, prints: string): Difference => {
  const now = fingerprintsOf(rendered)
  if (now === prints) return { kind: 'breakpoints' }
  const found = partsOf(rendered)[sharedBy(prints, now)]
  if (!found) return { kind: 'block', path: `messages[${rendered.messages.length}]` }
  const { path, part } = found
  return { kind: 'block', path, now: excerptOf(part) }
}

const excerptOf = (part: PlacedPart['part']): string => {
  const block = typeof part === 'string' ? { type: 'text', text: part } : withoutBreakpoint(part)
  const type = typeof block['type'] === 'string' ? block['type'] : 'tool'
  const json = textOf(block)
  return `${type} ${json.length > excerptLength ? `${json.slice(0, excerptLength).toWellFormed()}…` : json}`
}
