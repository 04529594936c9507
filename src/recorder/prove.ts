import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { ModelCall } from '../agent/receipts/calls.ts'
import { bodyDigest, receiptDigest } from '../agent/receipts/receipt-digest.ts'
import {
  type RecordedMessage,
  type RecordedRequest,
  recordedRenderer,
} from '../agent/receipts/recorded-schema.ts'
import { messagesRecordedAt } from '../agent/receipts/recorded.ts'
import { remadeCall } from '../agent/receipts/remade.ts'
import type { Receipt } from '../events/events.ts'
import { type Effective, messagesOf } from '../projections/effective.ts'
import type { ReadRequest } from './read-request.ts'

/** A receipt whose request was made again and compared with the one that was sent. */
export interface ProvenReceipt {
  readonly receipt: Receipt
  /** True if the receipt proves the bytes of the body; false if it proves the content only. */
  readonly isExact: boolean
}

/** Makes the receipt of a request from the history that is to be recorded; undefined if the history does not show that request. */
export const proveRequest = (
  effective: Effective,
  request: ReadRequest,
  betas: readonly string[],
): ProvenReceipt | undefined => {
  const recorded = compose(effective, request)
  if (!recorded) return undefined
  const receiptWith = (form: RecordedRequest['body'], digest: string): Receipt => ({
    position: effective.at,
    digest,
    options: {
      renderer: recordedRenderer,
      ...(request.messages.some(({ message }) => message.role === 'system') && { systemMessages: true }),
      ...(betas.length > 0 && { betas }),
      repairs: {},
      keyed: true,
      recorded: { ...recorded, ...(form && { body: form }) },
    },
  })
  // Made again by the functions that an audit uses.
  const receipt = receiptWith(request.form, '')
  const call: ModelCall = { number: 1, position: effective.at + 1, kind: 'reply', origin: {}, receipt }
  const made = remadeCall(call, effective)
  if (E.isLeft(made) || !made.right.body) return undefined
  const { body, made: sent } = made.right
  const isExact = request.isPlain && JSON.stringify(body) === request.text
  if (!isExact && !isDeepStrictEqual(body, request.body)) return undefined
  const sha256 = isExact ? { sha256: bodyDigest(effective, request.text) } : {}
  return {
    isExact,
    receipt: receiptWith({ ...request.form, ...sha256 }, receiptDigest(effective, sent)),
  }
}

/** Says of which events a request consists, relative to the last request of the history; undefined if it does not consist of them. */
const compose = (effective: Effective, request: ReadRequest): RecordedRequest | undefined => {
  const { items } = effective
  const positions: number[] = []
  for (const item of items) {
    const shown = messagesOf(item).length
    if (shown > 1) return undefined
    if (shown === 1) positions.push(item.position)
  }
  if (positions.length !== request.messages.length) return undefined
  const last = items.findLast((item) => item.kind === 'message' && item.origin?.context?.options['recorded'])
  const before = (last && messagesRecordedAt(effective, last.position)) ?? []
  const marked = new Set(
    request.cache.map(({ path: [place, index] }) => (place === 'messages' ? index : undefined)),
  )
  const messages = request.messages.map(({ isString }, index): RecordedMessage => {
    const own = [positions[index] ?? 0]
    const earlier = before[index]
    // A text is sent as a block only to carry a breakpoint.
    const wasString =
      marked.has(index) &&
      earlier?.string === true &&
      isDeepStrictEqual(earlier, { items: own, string: true })
    return isString || wasString ? { items: own, string: true } : { items: own }
  })
  const differs = messages.findIndex((message, index) => !isDeepStrictEqual(message, before[index]))
  const keep = differs < 0 ? Math.min(messages.length, before.length) : differs
  return {
    ...(last && keep > 0 && { base: last.position, keep }),
    messages: messages.slice(keep),
    ...(request.cache.length > 0 && { cache: request.cache }),
  }
}
