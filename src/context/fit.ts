import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../events/errors.ts'
import type { Effective } from '../projections/effective.ts'
import type { Conversation } from '../store/conversation.ts'
import type { WriteError } from '../store/errors.ts'
import type { ContextTooLarge } from './errors.ts'
import type { ModelAborted } from './model.ts'
import { manageContext } from './policy.ts'
import type { ContextSettings } from './settings.ts'
import { type CondenseError, condenseWith } from './summary-condense.ts'
import type { Summarizer } from './summarizer.ts'

/** What was done to make a context fit. */
export type Fitted =
  | { readonly type: 'fits' | 'condensed' | 'truncated' }
  /** Nothing was written: the next try had better truncate. */
  | { readonly type: 'not-condensed'; readonly error: CondenseError }

export type FitError = InvalidInput | ContextTooLarge | WriteError | ModelAborted

interface Means {
  readonly settings: ContextSettings
  readonly summarizer: Summarizer | undefined
  readonly signal?: AbortSignal | undefined
}

/** One step towards a context that fits: what the policy says, carried out. */
export const fit = async (
  chat: Conversation,
  now: Effective,
  { settings, summarizer, signal }: Means,
): Promise<E.Either<FitError, Fitted>> => {
  const plan = manageContext(now, settings, { canCondense: summarizer !== undefined })
  if (E.isLeft(plan)) return plan
  if (plan.right.type === 'nothing') return E.right({ type: 'fits' })
  if (plan.right.type === 'truncate') {
    let position = now.at
    for (const covers of plan.right.covers) {
      const reason = `the context was ${plan.right.used} tokens, and ${plan.right.allowed} are allowed`
      const written = await chat.truncate({ covers, reason, after: position })()
      if (E.isLeft(written)) return written
      ;({ position } = written.right)
    }
    return E.right({ type: 'truncated' })
  }
  const condensed = await condenseWith({
    effective: now,
    covers: plan.right.covers,
    summarizer: summarizer as Summarizer,
    condense: chat.condense,
    ...(signal && { signal }),
  })
  if (E.isRight(condensed)) return E.right({ type: 'condensed' })
  const error = condensed.left
  // A summarizer that has missed its deadline was not aborted by the caller.
  const isEnd = error._tag === 'StaleContext' || (error._tag === 'ModelAborted' && signal?.aborted)
  return isEnd ? E.left(error) : E.right({ type: 'not-condensed', error })
}

/** To this share of what the context is, when the API says that it is too long. */
const smaller = 0.75

/** Settings under which the context has to become a quarter smaller, whatever it is and was allowed to be. */
export const harder = (settings: ContextSettings, used: number): ContextSettings => ({
  ...settings,
  window: Math.max(2, Math.ceil(smaller * used)),
  reserved: 0,
  buffer: 0,
  automatic: true,
  percentage: 100,
  profiles: {},
})
