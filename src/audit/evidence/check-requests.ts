import { createHash } from 'node:crypto'
import { keyedDigest } from '../../agent/receipts/receipt-digest.ts'
import {
  BundleFormatError,
  field,
  requireValue,
  listIn,
  requireThat,
  numberIn,
  optional,
  parse,
  textIn,
} from './bundle-errors.ts'
import type { Digests } from './check-chain.ts'
import { linesOf } from './lines.ts'
import { files, type Manifest } from './manifest.ts'

/**
 * Reassembles every request and checks that its digest is in a receipt of the event at the request's `position`.
 *
 * @returns positions of the events with receipts whose requests are not in the bundle
 */
export const checkRequests = async (
  folder: string,
  manifest: Pick<Manifest, 'requests'>,
  receipts: Digests,
): Promise<readonly number[]> => {
  const parts = await linesOf(folder, files.parts)
  const used = new Set<number>()
  const shown = new Set<string>()
  const digests = new Set<unknown>()
  let numbers: readonly number[] = []
  for (const line of await linesOf(folder, files.requests)) {
    const request = parse(line)
    const position = numberIn(field(request, 'position'))
    numbers = [
      ...numbers.slice(0, numberIn(field(request, 'keep'))),
      ...listIn(field(request, 'add')).map(numberIn),
    ]
    const hashed = createHash('sha256')
    for (const number of numbers) {
      hashed.update(requireValue(parts.at(number)))
      used.add(number)
    }
    const key = optional(request, 'key')
    const own = hashed.digest('hex')
    const digest = key === undefined ? own : keyedDigest(keyFrom(key), own)
    const isSent = receipts.get(position)?.includes(digest) === true
    requireThat(isSent, `a request does not match the receipt in event ${position}`)
    const name = `${position} ${digest}`
    requireThat(!shown.has(name), `the request for the receipt in event ${position} occurs twice`)
    shown.add(name)
    digests.add(digest)
  }
  requireThat(used.size === parts.length, 'parts.txt has parts that are in no request')
  requireThat(manifest.requests === shown.size, 'bundle.json contradicts requests.jsonl: requests')
  return [...receipts.keys()].filter((position) => !receipts.get(position)?.every((one) => digests.has(one)))
}

const keyFrom = (value: unknown): string => {
  const key = textIn(value)
  if (!/^[0-9a-f]{64}$/.test(key)) throw new BundleFormatError()
  return key
}
