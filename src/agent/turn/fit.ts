import * as E from 'fp-ts/lib/Either.js'
import { type ContextTooLarge, withApiWording } from '../context/policy/errors.ts'
import { type PolicyConditions, manageContext, type ContextPlan } from '../context/policy/policy.ts'
import { refusalOf } from '../context/policy/refusal.ts'
import type { ResultLimit } from '../context/policy/result-limit.ts'
import type { ContextSettings } from '../context/policy/settings.ts'
import { shortResults, type ResultCut } from '../context/policy/plan-shortening.ts'
import { type CondenseError, condenseWith } from '../context/summary/condense.ts'
import type { Summarizer } from '../context/summary/summarizer.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { InvalidInput } from '../../events/errors.ts'
import type { Covers, Origin, Policy } from '../../events/events.ts'
import type { ContextExceeded, ModelAborted } from '../models/model.ts'
import type { Effective } from '../../projections/effective.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'

/** Result of one step towards making the context fit. */
export type FitResult =
  | { readonly type: 'fits' | 'condensed' | 'truncated' | 'shortened' }
  /** Condensing failed and nothing was written: the next attempt should truncate. */
  | { readonly type: 'not-condensed'; readonly error: CondenseError }

export type FitError = InvalidInput | ContextTooLarge | WriteError | ModelAborted

/** A marker that was written, and the origin of its summary. */
export interface WrittenMarker {
  readonly type: 'condensed' | 'truncated'
  readonly position: number
  readonly covers: Covers
  readonly origin?: Origin | undefined
}

interface Means {
  readonly settings: ContextSettings
  readonly summarizer: Summarizer | undefined
  /** Error of the summarizer, if it has failed. A failed summarizer is no longer used. */
  readonly failed?: CondenseError | undefined
  /** Error with which the API refused the request for this history, if it did. */
  readonly refused?: ContextExceeded | undefined
  /** Availability of the omitted part of a long result, as stated to the model. */
  readonly rest: ResultLimit['rest']
  /** Called with each written marker, except for those that shorten results. */
  readonly onMarker: (marker: WrittenMarker) => void
  readonly signal?: AbortSignal | undefined
}

/** Takes one step towards making the context fit, by carrying out the policy's plan. */
export async function* fit(
  chat: ConversationHandle,
  now: Effective,
  means: Means,
): Fallible<FitError, FitResult> {
  const { settings, summarizer, refused, signal } = means
  const options = {
    canCondense: summarizer !== undefined,
    ...(refused && { refused: refusalOf(refused) }),
  }
  const planned = manageContext(now, settings, options)
  if (refused && E.isLeft(planned) && planned.left._tag === 'ContextTooLarge')
    return yield withApiWording(planned.left, refused)
  const plan = yield* unwrap(planned)
  if (plan.type === 'nothing') return { type: 'fits' }
  const policy = policyOf(now, plan, { settings, options })
  if (plan.type === 'shorten') return yield* shorten(chat, now, plan.edits, { policy, rest: means.rest })
  if (plan.type === 'truncate') return yield* truncate(chat, now, plan.covers, policy, means)
  let origin: Origin | undefined
  const condensed = await condenseWith({
    effective: now,
    covers: plan.covers,
    summarizer: summarizer as Summarizer,
    condense: (input) => {
      ;({ origin } = input)
      return chat.condense({ ...input, policy })
    },
    context: chat.context,
    ...(signal && { signal }),
  })
  if (E.isRight(condensed)) {
    means.onMarker({ type: 'condensed', position: condensed.right.position, covers: plan.covers, origin })
    return { type: 'condensed' }
  }
  const error = condensed.left
  // A missed deadline of the summarizer is also a `ModelAborted`, but not an abort by the caller.
  const isEnd = error._tag === 'StaleContext' || (error._tag === 'ModelAborted' && signal?.aborted)
  return isEnd ? yield error : { type: 'not-condensed', error }
}

/**
 * Returns the record of a plan, to be stored with the plan's marker. `manageContext` derives the same plan again from the history at
 * `position`, the settings and the options.
 */
const policyOf = (
  { at }: Effective,
  { used, allowed, said, learned }: ContextPlan,
  { settings, options }: { readonly settings: ContextSettings; readonly options: PolicyConditions },
): Policy => ({
  of: 'context',
  used,
  allowed,
  position: at,
  settings: { ...settings },
  options: { ...options },
  ...(said !== undefined && { said }),
  ...(learned && { learned }),
})

/** Shortens tool results: the log keeps them whole, but the model is shown only a part from here on. */
async function* shorten(
  chat: ConversationHandle,
  { at, items }: Effective,
  edits: readonly ResultCut[],
  { policy, rest }: { readonly policy: Policy; readonly rest: ResultLimit['rest'] },
): Fallible<WriteError, FitResult> {
  let after = at
  for (const { covers, bytes } of edits) {
    const item = items.find(({ position }) => position === covers.first)
    const content = item && shortResults(item, { bytes, rest })
    if (!content) continue
    const summary = [{ role: 'user' as const, content }]
    const written = yield* unwrap(chat.condense({ covers, summary, method: 'client', policy, after }))
    after = written.position
  }
  return { type: 'shortened' }
}

async function* truncate(
  chat: ConversationHandle,
  { at }: Effective,
  slices: Extract<ContextPlan, { type: 'truncate' }>['covers'],
  { learned, ...policy }: Policy,
  { refused, failed, onMarker }: Means,
): Fallible<WriteError, FitResult> {
  const reason = refused
    ? `the API refused the context as too long: ${policy.used} tokens by our count`
    : `the context was ${policy.used} tokens, and ${policy.allowed} are allowed`
  let after = at
  for (const [index, covers] of slices.entries()) {
    const why = {
      ...policy,
      ...(failed && { failed: failed._tag }),
      // The correction of the estimates must count only once.
      ...(index === 0 && learned && { learned }),
    }
    const written = yield* unwrap(chat.truncate({ covers, reason, policy: why, after }))
    after = written.position
    onMarker({ type: 'truncated', position: after, covers })
  }
  return { type: 'truncated' }
}
