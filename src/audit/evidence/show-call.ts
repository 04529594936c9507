import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../../projections/effective.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { digestOf } from '../../agent/receipts/canonical.ts'
import { checkCall, requestIn } from '../../agent/receipts/made-again.ts'
import { requestTexts } from './request-texts.ts'

/**
 * Reason why the request of a call is not in a bundle. `withheld`: it shows withheld content; `not-chosen`: other calls were requested;
 * `differs`: rebuilt from the log, it is not what was sent; `receipt`: its receipt cannot be used.
 */
export type Omission = 'withheld' | 'not-chosen' | 'differs' | 'receipt'

/** The events to withhold and the calls to include. */
export interface Choice {
  readonly withheld: ReadonlySet<number>
  /** Reports whether to show the call with this number. */
  readonly isChosen: (call: number) => boolean
}

/** Returns the positions of everything that a request made of this history may repeat. A summary's request shows only part of it. */
const shownIn = ({ items, outline: { configured, toolsFrom } }: Effective): readonly number[] => [
  ...items.map(({ position }) => position),
  ...[configured, toolsFrom].filter((position) => position !== undefined),
]

/** Returns the texts of a call's request, or the reason why it is left out. `historyAt` may throw a `ReadError`. */
export const showCall = async (
  call: ModelCall,
  { withheld, isChosen }: Choice,
  historyAt: (position: number) => Promise<Effective>,
): Promise<readonly string[] | Omission> => {
  if (!isChosen(call.number)) return 'not-chosen'
  if (E.isLeft(checkCall(call))) return 'receipt'
  const history = await historyAt(call.receipt.position)
  if (shownIn(history).some((position) => withheld.has(position))) return 'withheld'
  const made = requestIn(call, history)
  if (E.isLeft(made)) return 'receipt'
  return digestOf(made.right) === call.receipt.digest ? requestTexts(made.right) : 'differs'
}
