import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../events/errors.ts'
import type { Policy } from '../events/events.ts'
import type { Effective } from '../projections/effective.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { WriteError } from '../store/errors.ts'
import { type ContextTooLarge, refusedTooLarge } from '../context/policy/errors.ts'
import type { ContextExceeded, ModelAborted } from '../models/model.ts'
import { type Circumstances, manageContext, type Plan } from '../context/policy/policy.ts'
import { refusalOf } from '../context/policy/refusal.ts'
import type { ResultLimit } from '../context/policy/result-limit.ts'
import { shortResults, type Shortening } from '../context/policy/shortening.ts'
import type { ContextSettings } from '../context/policy/settings.ts'
import { type CondenseError, condenseWith } from '../context/summary/condense.ts'
import type { Summarizer } from '../context/summary/summarizer.ts'

/** What was done to make a context fit. */
export type Fitted =
  | { readonly type: 'fits' | 'condensed' | 'truncated' | 'shortened' }
  /** Nothing was written: the next try had better truncate. */
  | { readonly type: 'not-condensed'; readonly error: CondenseError }

export type FitError = InvalidInput | ContextTooLarge | WriteError | ModelAborted

interface Means {
  readonly settings: ContextSettings
  readonly summarizer: Summarizer | undefined
  /** Why there is no summarizer, where it has failed. */
  readonly failed?: CondenseError | undefined
  /** How the API has refused the request that the history makes, if it has. */
  readonly refused?: ContextExceeded | undefined
  /** What the rest of a result that is cut down is to the model. */
  readonly rest: ResultLimit['rest']
  readonly signal?: AbortSignal | undefined
}
type Result<A> = Promise<E.Either<FitError, A>>

/** One step towards a context that fits: what the policy says, carried out. */
export const fit = async (chat: Conversation, now: Effective, means: Means): Result<Fitted> => {
  const { settings, summarizer, refused, signal } = means
  const options = {
    canCondense: summarizer !== undefined,
    ...(refused && { refused: refusalOf(refused) }),
  }
  const planned = manageContext(now, settings, options)
  if (E.isLeft(planned))
    return refused && planned.left._tag === 'ContextTooLarge'
      ? E.left(refusedTooLarge(planned.left, refused))
      : planned
  const plan = planned.right
  if (plan.type === 'nothing') return E.right({ type: 'fits' })
  const policy = policyOf(now, plan, { settings, options })
  if (plan.type === 'shorten') return shorten(chat, now, plan.edits, { policy, rest: means.rest })
  if (plan.type === 'truncate') return truncate(chat, now, plan.covers, policy, means)
  const condensed = await condenseWith({
    effective: now,
    covers: plan.covers,
    summarizer: summarizer as Summarizer,
    condense: (input) => chat.condense({ ...input, policy }),
    view: chat.view,
    ...(signal && { signal }),
  })
  if (E.isRight(condensed)) return E.right({ type: 'condensed' })
  const error = condensed.left
  // A summarizer that has missed its deadline was not aborted by the caller.
  const isEnd = error._tag === 'StaleContext' || (error._tag === 'ModelAborted' && signal?.aborted)
  return isEnd ? E.left(error) : E.right({ type: 'not-condensed', error })
}

/** What a marker says of its plan: `manageContext` makes the same one of the history at `position`, the settings and the options. */
const policyOf = (
  { at }: Effective,
  { used, allowed, said, learned }: Plan,
  { settings, options }: { readonly settings: ContextSettings; readonly options: Circumstances },
): Policy => ({
  of: 'context',
  used,
  allowed,
  position: at,
  settings,
  options: { ...options },
  ...(said !== undefined && { said }),
  ...(learned && { learned }),
})

/** Results are in the log whole, and shown in part from here on. */
const shorten = async (
  chat: Conversation,
  { at, items }: Effective,
  edits: readonly Shortening[],
  { policy, rest }: { readonly policy: Policy; readonly rest: ResultLimit['rest'] },
): Result<Fitted> => {
  let after = at
  for (const { covers, bytes } of edits) {
    const item = items.find(({ position }) => position === covers.first)
    const content = item && shortResults(item, { bytes, rest })
    if (!content) continue
    const summary = [{ role: 'user' as const, content }]
    const written = await chat.condense({ covers, summary, method: 'client', policy, after })()
    if (E.isLeft(written)) return written
    after = written.right.position
  }
  return E.right({ type: 'shortened' })
}

const truncate = async (
  chat: Conversation,
  { at }: Effective,
  slices: Extract<Plan, { type: 'truncate' }>['covers'],
  { learned, ...policy }: Policy,
  { refused, failed }: Means,
): Result<Fitted> => {
  const reason = refused
    ? `the API found the context too long, ${policy.used} tokens by our count`
    : `the context was ${policy.used} tokens, and ${policy.allowed} are allowed`
  let after = at
  for (const [index, covers] of slices.entries()) {
    const why = {
      ...policy,
      ...(failed && { failed: failed._tag }),
      // A lesson counts once.
      ...(index === 0 && learned && { learned }),
    }
    const written = await chat.truncate({ covers, reason, policy: why, after })()
    if (E.isLeft(written)) return written
    after = written.right.position
  }
  return E.right({ type: 'truncated' })
}
