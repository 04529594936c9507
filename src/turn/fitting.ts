import { restFor } from '../context/policy/result-limit.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { ContextExceeded } from '../models/model.ts'
import type { Effective } from '../projections/effective.ts'
import type { Steps } from '../result/steps.ts'
import { fit, type FitError } from './fit.ts'
import type { Settled } from './options.ts'

/** Makes the contexts of one turn fit, and knows which request the API has refused as too long. */
export interface Fitting {
  /** Whether the context fits; if not, it is now one step closer. */
  readonly step: (now: Effective) => Steps<FitError, boolean>
  /** The API has refused the request with that digest. Returns false if the turn ends with that: without `automatic`, nothing is condensed. */
  readonly refuse: (error: ContextExceeded, digest: string) => boolean
  /** Whether that request was refused: it is not sent again, and the context becomes smaller once more. */
  readonly isRefused: (digest: string) => boolean
  readonly accept: () => void
  /** Why the context was truncated and not condensed, if it was. */
  readonly failed: () => CondenseError | undefined
}

/** @param onFailed called when a condense has failed, with the reason */
export const fitting = (
  chat: Conversation,
  { context, summarizer: given, run, signal }: Pick<Settled, 'context' | 'summarizer' | 'run' | 'signal'>,
  onFailed: (error: CondenseError) => void,
): Fitting => {
  let summarizer = given
  let failed: CondenseError | undefined
  let refusal: { readonly error: ContextExceeded; readonly digest: string } | undefined
  let isTooLong = false

  return {
    step: async function* (now): Steps<FitError, boolean> {
      const refused = isTooLong ? refusal?.error : undefined
      const rest = restFor(run)
      const fitted = yield* fit(chat, now, { settings: context, summarizer, failed, refused, rest, signal })
      if (fitted.type === 'not-condensed') {
        failed = fitted.error
        onFailed(failed)
        summarizer = undefined
      } else isTooLong = false
      return fitted.type === 'fits'
    },
    refuse: (error, digest) => {
      refusal = { error, digest }
      isTooLong = true
      return context.automatic !== false
    },
    isRefused: (digest) => {
      isTooLong = digest === refusal?.digest
      return isTooLong
    },
    accept: () => {
      refusal = undefined
      isTooLong = false
    },
    failed: () => failed,
  }
}
