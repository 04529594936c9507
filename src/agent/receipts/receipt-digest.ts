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
  listDigest({
    before: '',
    items,
    textAt: (index) => items[index]?.salt ?? '',
    after: `;${layout.configuredSalt ?? ''},${layout.formerSalt ?? ''}`,
    stable: Math.max(0, items.length - 1),
  })

/** Returns the digest of a request under a key: the SHA-256 (hex) of the key and the request's own digest, as 32 bytes each. */
export const keyedDigest = (key: string, digest: string): string =>
  hash('sha256', Buffer.from(key + digest, 'hex'))

/** Returns the key under which a receipt's digest was computed; undefined for a receipt of version 0.1.0, whose digest has no key. */
export const keyIn = ({ options }: Pick<Receipt, 'options'>, effective: Effective): string | undefined =>
  options['keyed'] === true ? requestKey(effective) : undefined

/** Reports whether a request made from this history has the digest in the receipt. */
export const hasDigest = (receipt: Receipt, effective: Effective, sent: SentRequest): boolean => {
  const key = keyIn(receipt, effective)
  const digest = digestOf(sent)
  return (key === undefined ? digest : keyedDigest(key, digest)) === receipt.digest
}
