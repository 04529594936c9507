import * as E from 'fp-ts/lib/Either.js'
import { type ContextTooLarge, withApiWording } from '../context/policy/errors.ts'
import { type ContextPlan, manageContext } from '../context/policy/policy.ts'
import { refusalOf } from '../context/policy/refusal.ts'
import type { ContextSettings } from '../context/policy/settings.ts'
import type { InvalidInput } from '../../events/errors.ts'
import type { Policy } from '../../events/events.ts'
import type { ContextExceeded } from '../models/model.ts'
import type { Effective } from '../../projections/effective.ts'

/** Plan that makes the context smaller, and the record of it to be stored with the plan's markers. */
export interface FitPlan {
  readonly steps: Exclude<ContextPlan, { readonly type: 'nothing' }>
  readonly policy: Policy
}

/**
 * Plans how to make the context fit; undefined if it fits. `manageContext` derives the same plan again from the history at the policy's
 * `position`, its settings and its options.
 *
 * @param refused error with which the API refused the request for this history, if it did
 */
export const planFit = (
  now: Effective,
  settings: ContextSettings,
  { canCondense, refused }: { readonly canCondense: boolean; readonly refused: ContextExceeded | undefined },
): E.Either<InvalidInput | ContextTooLarge, FitPlan | undefined> => {
  const options = { canCondense, ...(refused && { refused: refusalOf(refused) }) }
  const planned = manageContext(now, settings, options)
  if (E.isLeft(planned))
    return E.left(
      refused && planned.left._tag === 'ContextTooLarge'
        ? withApiWording(planned.left, refused)
        : planned.left,
    )
  const steps = planned.right
  if (steps.type === 'nothing') return E.right(undefined)
  const { used, allowed, said, learned } = steps
  const policy: Policy = {
    of: 'context',
    used,
    allowed,
    position: now.at,
    settings: { ...settings },
    options,
    ...(said !== undefined && { said }),
    ...(learned && { learned }),
  }
  return E.right({ steps, policy })
}
