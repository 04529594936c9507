import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { type Effective, showsErased } from '../../projections/effective.ts'
import type { ModelCall } from './calls.ts'
import { containerFor } from './containers.ts'
import { asSent } from './build-request.ts'
import type { SentRequest } from './canonical.ts'
import { bodyFormIn, reasonOf, requestIn, type Unusable } from './made-again.ts'
import { compareReceipt, type ReceiptDifference } from './difference.ts'
import { bodyDigest, hasDigest } from './receipt-digest.ts'
import { type ReceiptOptions, receiptOptionsIn } from './receipt-options.ts'
import { recordedBody } from './recorded.ts'
import { requestOf } from './request.ts'

/** Model call that cannot be shown to match its receipt: the request differs, or the receipt is unusable or missing. */
export interface ReceiptFinding {
  /** Number of the call; undefined for `missing`, because only calls with a receipt are numbered. */
  readonly call?: number
  /** Position of the event that contains the answer. */
  readonly position: number
  /**
   * Kind of the `ReceiptDifference`, or: `receipt`, the receipt is unusable; `renderer`, a newer version made the request; `missing`,
   * the reply has no receipt; `erased`: the request showed content that was erased, so that nobody can compare it any more.
   */
  readonly kind: ReceiptDifference['kind'] | 'receipt' | 'renderer' | 'missing' | 'erased'
  readonly message: string
  /** Position of the first event that differs, for `event`; absent if the history showed more events when the request was made. */
  readonly event?: number
  /** Path of the first difference, for `block`. `now` is the type and the beginning of the block now at that path, if any. */
  readonly path?: string
  readonly now?: string
}

/** `ReceiptFinding` without the number and the position of its call. */
export type FindingDetails = Omit<ReceiptFinding, 'call' | 'position'>

/**
 * Remakes a call's request from the history and compares it with the receipt; returns undefined if they match.
 *
 * @param prints fingerprints of the receipt's request, if known
 */
export const diagnoseReceipt = (
  call: ModelCall,
  effective: Effective,
  prints: string | undefined,
): FindingDetails | undefined =>
  pipe(
    call.kind === 'summary' ? compareSummary(call, effective) : compareReply(call, effective, prints),
    E.match(problemIn, (difference) => difference && differenceIn(difference)),
    (found) => (found && isOfContent(found) && showsErased(effective) ? notCheckable : found),
  )

const notCheckable: FindingDetails = {
  kind: 'erased',
  message: 'the request showed content that was erased: it is not checkable any more',
}

/** Reports whether a finding may be due to other content than that of the request sent. */
const isOfContent = ({ kind }: FindingDetails): boolean => kind !== 'receipt' && kind !== 'renderer'

type Compared = E.Either<Unusable, ReceiptDifference | undefined>

const compareSummary = (call: ModelCall, effective: Effective): Compared =>
  pipe(
    requestIn(call, effective),
    E.map((made) => (hasDigest(call.receipt, effective, made) ? undefined : { kind: 'digest' })),
  )

const compareReply = (call: ModelCall, effective: Effective, prints: string | undefined): Compared =>
  pipe(
    receiptOptionsIn(call.receipt),
    E.bindTo('options'),
    E.bindW('rendered', ({ options }) => requestOf(effective, options)),
    E.map(
      ({ options, rendered }) =>
        compareReceipt(effective, rendered, call.receipt, options, prints) ??
        compareContainer(effective, options) ??
        (hasBody(call, effective, rendered) ? undefined : { kind: 'digest' }),
    ),
  )

/** Reports whether a remade request has the bytes that a recorder saw; true if the receipt does not tell them. */
export const hasBody = (call: ModelCall, effective: Effective, made: SentRequest): boolean => {
  const form = bodyFormIn(call.receipt)
  if (form?.sha256 === undefined) return true
  const body = recordedBody(asSent(call, effective, made), made.strings ?? [], form)
  return bodyDigest(effective, JSON.stringify(body)) === form.sha256
}

export const problemIn = (error: Unusable): FindingDetails =>
  error._tag === 'UnknownRenderer'
    ? { kind: 'renderer', message: reasonOf(error) }
    : { kind: 'receipt', message: `its receipt cannot be used: ${reasonOf(error)}` }

const compareContainer = (
  effective: Effective,
  { container, form, recorded }: ReceiptOptions,
): ReceiptDifference | undefined => {
  // Only the Messages API has containers, and another program chooses its own.
  if (form || recorded) return undefined
  const newest = containerFor(effective)?.id
  return newest === container?.id ? undefined : { kind: 'container', named: container?.id, newest }
}

const differenceIn = (difference: ReceiptDifference): FindingDetails => {
  const message = messageOf(difference)
  if (difference.kind !== 'block' && difference.kind !== 'event') return { kind: difference.kind, message }
  return { ...difference, message }
}

const messageOf = (difference: ReceiptDifference): string => {
  switch (difference.kind) {
    case 'block':
      return difference.now === undefined
        ? `the request was longer: it has no ${difference.path} now`
        : `${difference.path} differs from the request sent; now it is ${difference.now}`
    case 'event':
      return difference.event === undefined
        ? 'the request showed more events than the history does now'
        : `event ${difference.event} is not what the request showed`
    case 'breakpoints':
      return 'its blocks match the request sent, but their cache breakpoints or the digest differ'
    case 'digest':
      return 'the request differs from the one sent; the receipt does not say where'
    case 'container':
      return `the receipt names ${difference.named === undefined ? 'no container' : `the container ${difference.named}`}; the newest on the path is ${difference.newest ?? 'none'}`
    case 'repairs':
      return `the request matches the one sent, but was made with other repairs: ${JSON.stringify(difference.repairs)}`
  }
}
