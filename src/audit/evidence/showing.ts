import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../../projections/effective.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import { digestOf } from '../../agent/receipts/canonical.ts'
import { checkCall, requestIn } from '../../agent/receipts/made-again.ts'
import { requestTexts } from './request-texts.ts'

/**
 * Why the request of a call is not in a bundle. `withheld`: it shows what is withheld; `not-chosen`: other calls were asked for;
 * `differs`: made again from the log, it is not what was sent; `receipt`: its receipt cannot be used.
 */
export type Omission = 'withheld' | 'not-chosen' | 'differs' | 'receipt'

/** Which events are withheld, and which calls were asked for. */
export interface Choice {
  readonly withheld: ReadonlySet<number>
  /** Whether a call is to be shown, by its number. */
  readonly isChosen: (call: number) => boolean
}

/** Everything that a request made of this history may repeat. A summary's request shows a part of it. */
const shownIn = ({ items, outline: { configured, toolsFrom } }: Effective): readonly number[] => [
  ...items.map(({ position }) => position),
  ...[configured, toolsFrom].filter((position) => position !== undefined),
]

/** The texts of a call's request, or why it is left out. `historyAt` may throw a `ReadError`. */
export const shown = async (
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
