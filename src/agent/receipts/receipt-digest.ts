import { hash } from 'node:crypto'
import type { Receipt } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { digestOf, type SentRequest } from './canonical.ts'
import { listDigest } from './list-digest.ts'

// A digest of the text alone confirms a guess of a short message to whoever knows the rest of the request, even after the message was
// erased. In a receipt, it is therefore keyed with the salts of all events that the request may show: with any of them gone, nobody
// can compute the digest of a guess. docs/adr/0057-keyed-receipts.md.

/** Returns the key of a history's requests: the SHA-256 (hex) of the salts of all events whose content the requests may show. */
export const requestKey = ({ items, layout }: Effective): string =>
  keyOf(items, (index) => items[index]?.salt, layout)

/**
 * Returns the key of a request that shows these items.
 *
 * @param saltAt returns the salt of the item with this index
 */
export const keyOf = (
  items: readonly object[],
  saltAt: (index: number) => string | undefined,
  { configuredSalt, formerSalt }: Pick<Effective['layout'], 'configuredSalt' | 'formerSalt'>,
): string =>
  listDigest({
    before: '',
    items,
    textAt: (index) => saltAt(index) ?? '',
    after: `;${configuredSalt ?? ''},${formerSalt ?? ''}`,
    stable: Math.max(0, items.length - 1),
  })

/** Returns the digest of a request under a key: the SHA-256 (hex) of the key and the request's own digest, as 32 bytes each. */
export const keyedDigest = (key: string, digest: string): string =>
  hash('sha256', Buffer.from(key + digest, 'hex'))

/** Returns the digest that a receipt records of a request made from this history. */
export const receiptDigest = (effective: Effective, sent: SentRequest): string =>
  keyedDigest(requestKey(effective), digestOf(sent))

/** Returns the digest that a receipt records of the body of a request made from this history. */
export const bodyDigest = (effective: Effective, body: string): string =>
  keyedDigest(requestKey(effective), hash('sha256', body))

/** Returns the key under which a receipt's digest was computed; undefined for a receipt of version 0.1.0, whose digest has no key. */
export const keyIn = (receipt: Receipt, effective: Effective): string | undefined =>
  isKeyed(receipt) ? requestKey(effective) : undefined

/** Reports whether a request made from this history has the digest in the receipt. */
export const hasDigest = (receipt: Receipt, effective: Effective, sent: SentRequest): boolean =>
  (isKeyed(receipt) ? receiptDigest(effective, sent) : digestOf(sent)) === receipt.digest

const isKeyed = ({ options }: Pick<Receipt, 'options'>): boolean => options['keyed'] === true
