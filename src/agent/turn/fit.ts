import * as E from 'fp-ts/lib/Either.js'
import { restFor } from '../context/policy/result-limit.ts'
import { type ResultCut, shortResults } from '../context/policy/plan-shortening.ts'
import { condenseWith } from '../context/summary/condense.ts'
import type { Summarizer } from '../context/summary/summarizer.ts'
import type { WriteResult } from '../../conversation/writing/encode.ts'
import type { Covers, Policy } from '../../events/events.ts'
import { failuresIn } from '../models/call-model.ts'
import type { ModelAborted } from '../models/model.ts'
import type { Effective } from '../../projections/effective.ts'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'
import type { TurnActionOf } from './next-action.ts'
import type { TurnMeans } from './turn-means.ts'
import type { TurnOutcome, TurnState } from './turn-state.ts'

export async function* fit(
  { now, plan, policy }: TurnActionOf<'fit'>,
  state: TurnState,
  means: TurnMeans,
): Fallible<WriteError | ModelAborted, TurnOutcome> {
  const context = { now, policy, state, means }
  if (plan.type === 'condense') return yield* condense(plan.covers, context)
  yield* plan.type === 'shorten' ? shorten(plan.edits, context) : truncate(plan.covers, context)
  return { type: 'fitted' }
}

interface FitContext {
  readonly now: Effective
  readonly policy: Policy
  readonly state: TurnState
  readonly means: TurnMeans
}

/** Counts a condense, if the write contains one, and emits its event. */
export const tellCondensed = (
  { events }: WriteResult,
  { state, means }: Pick<FitContext, 'state' | 'means'>,
): void => {
  const event = events.at(-1)
  if (event?.type !== 'Condensed' || !event.data) return
  const { covers, method, origin } = event.data
  // The call that made a provider's compaction is already counted with its reply.
  means.tell({ type: 'spent', entry: { type: 'condensed', ...(method === 'model' && { origin }) } })
  state.options.emit({ type: 'condensed', position: event.position, covers })
}

async function* condense(
  covers: Covers,
  context: FitContext,
): Fallible<WriteError | ModelAborted, TurnOutcome> {
  const { now, policy, state, means } = context
  const { chat, tell, watch } = means
  const condensed = await condenseWith({
    effective: now,
    covers,
    summarizer: state.settings.summarizer as Summarizer,
    condense: (input) => chat.condense({ ...input, policy }),
    context: chat.context,
    signal: watch.signal,
  })
  if (E.isRight(condensed)) {
    tellCondensed(condensed.right, context)
    return { type: 'fitted' }
  }
  const error = condensed.left
  tell({ type: 'calls-failed', calls: failuresIn(error) })
  // A missed deadline of the summarizer is also a `ModelAborted`, but not an abort by the caller.
  const isEnd = error._tag === 'StaleContext' || (error._tag === 'ModelAborted' && watch.signal.aborted)
  return isEnd ? yield error : { type: 'not-condensed', error }
}

/** Shortens tool results: the log keeps them whole, but the model is shown only a part from here on. */
async function* shorten(
  edits: readonly ResultCut[],
  { now: { at, items }, policy, state, means }: FitContext,
): Fallible<WriteError, void> {
  let after = at
  for (const { covers, bytes } of edits) {
    const item = items.find(({ position }) => position === covers.first)
    const content = item && shortResults(item, { bytes, rest: restFor(state.settings.run) })
    if (!content) continue
    const summary = [{ role: 'user' as const, content }]
    const written = yield* unwrap(means.chat.condense({ covers, summary, method: 'client', policy, after }))
    after = written.position
  }
}

async function* truncate(
  slices: readonly Covers[],
  { now, policy: { learned, ...policy }, state, means }: FitContext,
): Fallible<WriteError, void> {
  const { failedSummary } = state
  const reason = policy.options?.['refused']
    ? `the API refused the context as too long: ${policy.used} tokens by our count`
    : `the context was ${policy.used} tokens, and ${policy.allowed} are allowed`
  let after = now.at
  for (const [index, covers] of slices.entries()) {
    const why = {
      ...policy,
      ...(failedSummary && { failed: failedSummary._tag }),
      // The correction of the estimates must count only once.
      ...(index === 0 && learned && { learned }),
    }
    const written = yield* unwrap(means.chat.truncate({ covers, reason, policy: why, after }))
    after = written.position
    means.tell({ type: 'spent', entry: { type: 'truncated' } })
    state.options.emit({ type: 'truncated', position: after, covers })
  }
}
