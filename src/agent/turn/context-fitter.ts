import { restFor } from '../context/policy/result-limit.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { ContextExceeded } from '../models/model.ts'
import type { Effective } from '../../projections/effective.ts'
import type { Fallible } from '../../result/fallible.ts'
import { fit, type FitError, type WrittenMarker } from './fit.ts'
import type { ResolvedTurnOptions } from './options.ts'

/** Context manager of one turn. Remembers the request that the API refused as too long. */
export interface ContextFitter {
  /** Takes one step to make the context fit, and returns false; returns true if it already fits. */
  readonly step: (now: Effective) => Fallible<FitError, boolean>
  /**
   * Remembers that the API refused the request with this digest. Returns false if the refusal ends the turn because `automatic` is
   * false and nothing may be condensed.
   */
  readonly refuse: (error: ContextExceeded, digest: string) => boolean
  /**
   * Reports whether the API refused the request with this digest. Such a request is not sent again; the next step makes the context
   * smaller.
   */
  readonly isRefused: (digest: string) => boolean
  readonly accept: () => void
}

interface Told {
  /** Called with the error of a failed condense. */
  readonly onFailed: (error: CondenseError) => void
  readonly onMarker: (marker: WrittenMarker) => void
}

/**
 * Creates the context manager of a turn.
 *
 * @param current returns the settings of the next call
 */
export const createContextFitter = (
  chat: ConversationHandle,
  current: () => ResolvedTurnOptions,
  { onFailed, onMarker }: Told,
): ContextFitter => {
  let failed: CondenseError | undefined
  let refusal: { readonly error: ContextExceeded; readonly digest: string } | undefined
  let isTooLong = false

  return {
    step: async function* (now): Fallible<FitError, boolean> {
      const { context: settings, run, signal } = current()
      // A summarizer that has failed is not used again.
      const summarizer = failed ? undefined : current().summarizer
      const refused = isTooLong ? refusal?.error : undefined
      const rest = restFor(run)
      const means = { settings, summarizer, failed, refused, rest, signal, onMarker }
      const fitted = yield* fit(chat, now, means)
      if (fitted.type === 'not-condensed') {
        failed = fitted.error
        onFailed(failed)
      } else isTooLong = false
      return fitted.type === 'fits'
    },
    refuse: (error, digest) => {
      refusal = { error, digest }
      isTooLong = true
      return current().context.automatic !== false
    },
    isRefused: (digest) => {
      isTooLong = digest === refusal?.digest
      return isTooLong
    },
    accept: () => {
      refusal = undefined
      isTooLong = false
    },
  }
}
