import { isDeepStrictEqual } from 'node:util'
import type { Receipt } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { textOf } from './canonical.ts'
import { fingerprintsOf, partsOf, type PlacedPart, withoutBreakpoint } from './fingerprints.ts'
import { eventOfPrint, itemPrintsOf } from './item-prints.ts'
import { countsOf } from './receipt.ts'
import { hasDigest } from './receipt-digest.ts'
import { sharedPrefixLength } from './receipt-blocks.ts'
import type { ReceiptOptions } from './receipt-options.ts'
import type { RenderedRequest } from './request.ts'

/** Difference between a remade request and the one that a receipt covers. */
export type ReceiptDifference =
  /**
   * For a receipt of version 0.1.0: path of the first block that differs. `now` is the type and the beginning of the JSON of the block
   * now at that path; undefined if the path no longer exists.
   */
  | { readonly kind: 'block'; readonly path: string; readonly now?: string }
  /**
   * Position of the first shown event that differs from what it was when the request was made; undefined if the history showed more
   * events then.
   */
  | { readonly kind: 'event'; readonly event?: number }
  /** Same blocks, but other cache breakpoints, or a digest that covers something else. */
  | { readonly kind: 'breakpoints' }
  /** Different request; the receipt does not tell where it differs. */
  | { readonly kind: 'digest' }
  /** Same request, but its repairs differ from the repairs in the receipt; `repairs` is the current number of each kind. */
  | { readonly kind: 'repairs'; readonly repairs: ReceiptOptions['repairs'] }
  /** Same request, but the newest container on the path (`newest`) is not the one in the receipt (`named`). */
  | { readonly kind: 'container'; readonly named: string | undefined; readonly newest: string | undefined }

/**
 * Compares a request remade from a history with its receipt; returns undefined if they match.
 *
 * @param prints fingerprints of the receipt's request, if known
 */
export const compareReceipt = (
  effective: Effective,
  rendered: RenderedRequest,
  receipt: Receipt,
  { repairs, keyed }: ReceiptOptions,
  prints: string | undefined,
): ReceiptDifference | undefined => {
  if (hasDigest(receipt, effective, rendered)) {
    const now = countsOf(rendered)
    return isDeepStrictEqual(now, repairs) ? undefined : { kind: 'repairs', repairs: now }
  }
  if (prints === undefined) return { kind: 'digest' }
  return keyed ? firstChange(effective, prints) : firstDifference(rendered, prints)
}

const firstChange = (effective: Effective, prints: string): ReceiptDifference => {
  const now = itemPrintsOf(effective)
  if (now === prints) return { kind: 'digest' }
  const event = eventOfPrint(effective, sharedPrefixLength(prints, now))
  return { kind: 'event', ...(event !== undefined && { event }) }
}

const excerptLength = 80

const firstDifference = (rendered: RenderedRequest, prints: string): ReceiptDifference => {
  const now = fingerprintsOf(rendered)
  if (now === prints) return { kind: 'breakpoints' }
  const found = partsOf(rendered)[sharedPrefixLength(prints, now)]
  if (!found) return { kind: 'block', path: `messages[${(rendered.chat ?? rendered).messages.length}]` }
  const { path, part } = found
  return { kind: 'block', path, now: excerptOf(part) }
}

const excerptOf = (part: PlacedPart['part']): string => {
  const block = typeof part === 'string' ? { type: 'text', text: part } : withoutBreakpoint(part)
  const type = [block['type'], block['role']].find((name) => typeof name === 'string') ?? 'tool'
  const json = textOf(block)
  return `${type} ${json.length > excerptLength ? `${json.slice(0, excerptLength).toWellFormed()}…` : json}`
}
