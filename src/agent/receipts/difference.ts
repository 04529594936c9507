import { isDeepStrictEqual } from 'node:util'
import type { Receipt } from '../../events/events.ts'
import { digestOf, textOf } from './canonical.ts'
import { fingerprintsOf, partsOf, type PlacedPart, withoutBreakpoint } from './fingerprints.ts'
import { countsOf } from './receipt.ts'
import { sharedPrefixLength } from './receipt-blocks.ts'
import type { ReceiptOptions } from './receipt-options.ts'
import type { RenderedRequest } from './request.ts'

/** Difference between a remade request and the one that a receipt covers. */
export type ReceiptDifference =
  /**
   * Path of the first block that differs, and the block now at that path: its type and the beginning of its JSON, or undefined if there
   * is none.
   */
  | { readonly kind: 'block'; readonly path: string; readonly now?: string }
  /** The blocks are the same, but cache breakpoints differ, or the digest covers something else. */
  | { readonly kind: 'breakpoints' }
  /** The request differs, but the receipt does not say where. */
  | { readonly kind: 'digest' }
  /** The request is the same, but its numbers of repairs were others than these. */
  | { readonly kind: 'repairs'; readonly repairs: ReceiptOptions['repairs'] }
  /** The request is the same, but the newest container on the path is not the one named by the receipt. */
  | { readonly kind: 'container'; readonly named: string | undefined; readonly newest: string | undefined }

/** @param prints fingerprints of the receipt's request, if they are known */
export const compareReceipt = (
  rendered: RenderedRequest,
  { digest }: Receipt,
  { repairs }: ReceiptOptions,
  prints: string | undefined,
): ReceiptDifference | undefined => {
  if (digestOf(rendered) === digest) {
    const now = countsOf(rendered)
    return isDeepStrictEqual(now, repairs) ? undefined : { kind: 'repairs', repairs: now }
  }
  return prints === undefined ? { kind: 'digest' } : firstDifference(rendered, prints)
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
