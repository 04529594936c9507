import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../projections/effective.ts'
import type { ModelCall } from './calls.ts'
import { digestOf } from './canonical.ts'
import { containerFor } from './containers.ts'
import { reasonOf, requestIn, type Unusable } from './made-again.ts'
import { compareReceipt, type Difference } from './difference.ts'
import { type ReceiptOptions, receiptOptionsIn } from './receipt-options.ts'
import { requestOf } from './request.ts'

/** A call whose request is not, or cannot be shown to be, the one that its receipt is of. */
export interface ReceiptFinding {
  /** Undefined for `missing`: only calls with a receipt are counted. */
  readonly call?: number
  /** Position of the answer. */
  readonly position: number
  /** As `Difference`; `receipt`: it cannot be used; `renderer`: a newer version made the request; `missing`: there is no receipt. */
  readonly kind: Difference['kind'] | 'receipt' | 'renderer' | 'missing'
  readonly message: string
  /** With `block`: the place of the first difference, and type and beginning of what is there now, if anything. */
  readonly path?: string
  readonly now?: string
}

/** A finding without the call that it is about. */
type Found = Omit<ReceiptFinding, 'call' | 'position'>

export const findingIn = (
  call: ModelCall,
  effective: Effective,
  prints: string | undefined,
): Found | undefined => {
  const { receipt } = call
  if (call.kind === 'summary') {
    const made = requestIn(call, effective)
    if (E.isLeft(made)) return problemIn(made.left)
    return digestOf(made.right) === receipt.digest ? undefined : differenceIn({ kind: 'digest' })
  }
  const options = receiptOptionsIn(receipt)
  if (E.isLeft(options)) return problemIn(options.left)
  const rendered = requestOf(effective, options.right)
  if (E.isLeft(rendered)) return problemIn(rendered.left)
  const difference =
    compareReceipt(rendered.right, receipt, options.right, prints) ??
    compareContainer(effective, options.right)
  return difference && differenceIn(difference)
}

export const problemIn = (error: Unusable): Found =>
  error._tag === 'UnknownRenderer'
    ? { kind: 'renderer', message: reasonOf(error) }
    : { kind: 'receipt', message: `its receipt cannot be used: ${reasonOf(error)}` }

const compareContainer = (effective: Effective, { container }: ReceiptOptions): Difference | undefined => {
  const newest = containerFor(effective)?.id
  return newest === container?.id ? undefined : { kind: 'container', named: container?.id, newest }
}

const differenceIn = (difference: Difference): Found => {
  const message = messageOf(difference)
  if (difference.kind !== 'block') return { kind: difference.kind, message }
  return { ...difference, message }
}

const messageOf = (difference: Difference): string => {
  switch (difference.kind) {
    case 'block':
      return difference.now === undefined
        ? `the request ended later: there is no ${difference.path} now`
        : `${difference.path} is not what was sent; now it is ${difference.now}`
    case 'breakpoints':
      return 'its blocks are what was sent, but not their cache breakpoints, or the digest was changed'
    case 'digest':
      return 'the request is not what was sent; the receipt does not say where'
    case 'container':
      return `the receipt names ${difference.named === undefined ? 'no container' : `the container ${difference.named}`}; the newest on the path is ${difference.newest ?? 'none'}`
    case 'repairs':
      return `the request is what was sent, but was made with other repairs: ${JSON.stringify(difference.repairs)}`
  }
}
