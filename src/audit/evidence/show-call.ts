import * as E from 'fp-ts/lib/Either.js'
import { type Effective, showsErased } from '../../projections/effective.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { checkCall, requestIn } from '../../agent/receipts/made-again.ts'
import { hasDigest, keyIn } from '../../agent/receipts/receipt-digest.ts'
import { requestTexts } from './request-texts.ts'

/**
 * Reason why a call's request is not in a bundle. `withheld`: the request shows withheld content; `not-chosen`: the export options
 * exclude the call; `erased`: the request showed content that was erased; `differs`: the request rebuilt from the log is not the one that was sent; `receipt`: the call's receipt cannot be
 * used.
 */
export type Omission = 'withheld' | 'erased' | 'not-chosen' | 'differs' | 'receipt'

/** The events to withhold and the calls to include. */
export interface Choice {
  readonly withheld: ReadonlySet<number>
  /** Reports whether to include the request of the call with this number. */
  readonly isChosen: (call: number) => boolean
}

/**
 * Returns the positions of all events whose content may appear in a request built from this history. A summary request contains only
 * part of this content.
 */
const shownIn = ({ items, layout: { configured, toolsFrom } }: Effective): readonly number[] => [
  ...items.map(({ position }) => position),
  ...[configured, toolsFrom].filter((position) => position !== undefined),
]

/** Texts of a request, and the key of its digest, if it has one. */
interface ShownCall {
  readonly texts: readonly string[]
  readonly key: string | undefined
}

/** Returns a call's request, or the reason for omitting it. `historyAt` may throw a `ReadError`. */
export const showCall = async (
  call: ModelCall,
  { withheld, isChosen }: Choice,
  historyAt: (position: number) => Promise<Effective>,
): Promise<ShownCall | Omission> => {
  if (!isChosen(call.number)) return 'not-chosen'
  if (E.isLeft(checkCall(call))) return 'receipt'
  const history = await historyAt(call.receipt.position)
  if (shownIn(history).some((position) => withheld.has(position))) return 'withheld'
  const made = requestIn(call, history)
  if (E.isLeft(made)) return 'receipt'
  if (hasDigest(call.receipt, history, made.right))
    return { texts: requestTexts(made.right), key: keyIn(call.receipt, history) }
  return showsErased(history) ? 'erased' : 'differs'
}
