import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../projections/effective.ts'
import type { Conversation } from '../conversation/conversation.ts'
import { fit, type FitError } from './fit.ts'
import type { ContextExceeded } from '../models/model.ts'
import { restFor } from '../context/policy/result-limit.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import type { Settled } from './options.ts'

/** Makes the contexts of one turn fit, and knows which request the API has refused as too long. */
export interface Fitting {
  /** Whether the context fits; else it is one step nearer to that. */
  readonly step: (now: Effective) => Promise<E.Either<FitError, boolean>>
  /** The API has refused the request with that digest. Returns false where the turn ends with that: nothing may be condensed unasked. */
  readonly refuse: (error: ContextExceeded, digest: string) => boolean
  /** Whether that is the request that was refused: it is not sent again, and the context becomes smaller once more. */
  readonly isRefused: (digest: string) => boolean
  readonly accept: () => void
  /** Why the context was truncated and not condensed, if it was. */
  readonly failed: () => CondenseError | undefined
}

/** @param onFailed told why a condense has failed */
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
    step: async (now) => {
      const refused = isTooLong ? refusal?.error : undefined
      const made = await fit(chat, now, {
        settings: context,
        summarizer,
        failed,
        refused,
        rest: restFor(run),
        signal,
      })
      if (E.isLeft(made)) return made
      if (made.right.type === 'not-condensed') {
        failed = made.right.error
        onFailed(failed)
        summarizer = undefined
      } else isTooLong = false
      return E.right(made.right.type === 'fits')
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
