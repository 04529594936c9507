import * as E from 'fp-ts/lib/Either.js'
import { type Block, textBlock } from '../../../events/blocks.ts'
import type { InvalidInput } from '../../../events/errors.ts'
import type { Covers, Origin } from '../../../events/events.ts'
import type { Effective } from '../../../projections/effective.ts'
import { callModel, failedCallOf, failuresIn, withFailed } from '../../models/call-model.ts'
import { receiptDigest } from '../../receipts/receipt-digest.ts'
import type { SummaryFailed } from './errors.ts'
import type { FailedCall, Model, ModelError } from '../../models/model.ts'
import { sliceOf } from '../../../projections/effective.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import { estimateOfSummary, nextRequest } from './parts.ts'
import { isVisible, sumOfUsage, textsOf } from './reply.ts'
import {
  alongSummary,
  requestOfSummary,
  type SummaryOptions,
  type SummaryRequest,
} from '../../receipts/summary-request.ts'
import { type SummarizerSettings, type SummaryLimits, summaryLimitsOf } from './settings.ts'
import { sumOfEstimates, withEstimates } from '../tokens/estimates.ts'
import { countTokens } from '../tokens/tokens.ts'

export type { SummarizerSettings }

/** Slice of the effective history to summarize. */
export interface SummaryInput {
  readonly effective: Effective
  readonly covers: Covers
  readonly signal?: AbortSignal | undefined
}
/** Summary, as the content of a user message that replaces the slice, and its origin. */
export interface SummaryResult {
  readonly blocks: readonly Block[]
  readonly origin?: Origin
}
export type SummaryError = ModelError | SummaryFailed | InvalidInput

/**
 * Function that summarizes a slice. It writes nothing to the log.
 *
 * @example
 * import { messagesOf, sliceOf, type Summarizer } from 'palimpsest'
 *
 * const outline: Summarizer = async ({ effective, covers }) => {
 *   const said = sliceOf(effective, covers).flatMap(messagesOf)
 *   const lines = said.flatMap(({ role, content }) =>
 *     content.flatMap((block) => (block.type === 'text' ? `${role}: ${String(block['text']).slice(0, 80)}` : [])),
 *   )
 *   return { blocks: [{ type: 'text', text: lines.join('\n') }] }
 * }
 */
export type Summarizer = (
  input: SummaryInput,
) => Promise<SummaryResult | E.Either<SummaryError, SummaryResult>>

/**
 * Returns a summarizer that calls a model. A slice too large for one request is summarized in parts; each request then begins with the
 * summary of the preceding parts. `origin.usage` is the total of all requests, `origin.context` the receipt of the last one. Details:
 * docs/summaries.md. Errors: `InvalidInput` for invalid settings, `SummaryFailed` for a reply that is not a complete summary,
 * `ModelAborted` for an abort or a missed deadline.
 */
export const summarizer = (
  model: Model,
  settings: SummarizerSettings,
): ((input: SummaryInput) => Promise<E.Either<SummaryError, Required<SummaryResult>>>) => {
  const checked = summaryLimitsOf(settings)
  return async (input) => {
    if (E.isLeft(checked)) return checked
    const { deadline } = checked.right
    const signal = AbortSignal.any([
      ...(input.signal ? [input.signal] : []),
      ...(deadline === undefined ? [] : [AbortSignal.timeout(deadline)]),
    ])
    const failed: FailedCall[] = []
    const summarized = await run(summarize(model, checked.right, { ...input, signal, failed }))
    if (failed.length === 0) return summarized
    return E.isLeft(summarized)
      ? E.left({ ...summarized.left, failed })
      : E.right({ ...summarized.right, origin: withFailed(summarized.right.origin, failed) })
  }
}

/** Slice to summarize, with the calls that have failed so far. */
interface Asking extends SummaryInput {
  readonly failed: FailedCall[]
}

async function* summarize(
  model: Model,
  limits: SummaryLimits,
  input: Asking,
): Fallible<SummaryError, Required<SummaryResult>> {
  const { effective, covers } = input
  const pinned = limits.pinned(sliceOf(effective, covers)).filter(isVisible)
  const along = {
    model: limits.model,
    max_tokens: limits.maxTokens,
    ...(model.betas && { betas: model.betas }),
    ...(model.form && { form: model.form }),
  }
  let options: SummaryOptions = { ...limits.options, along, covers }
  const paid: Origin[] = []
  let usage: Origin['usage']
  let estimated: Origin['estimated']
  let { allowed } = limits
  for (;;) {
    const answered = await run(ask(model, { ...limits, allowed, options }, input))
    // The earlier parts cost tokens, although no summary will be recorded.
    if (E.isLeft(answered)) {
      const { _tag, message } = answered.left
      input.failed.push(...paid.map((part) => failedCallOf({ ...part, _tag, message })))
      return yield answered.left
    }
    const answer = answered.right
    const { asked, texts, origin } = answer
    const digest = receiptDigest(effective, answer.request)
    ;({ allowed } = answer)
    paid.push(origin)
    usage = usage && origin.usage ? sumOfUsage(usage, origin.usage) : (origin.usage ?? usage)
    estimated = sumOfEstimates(estimated, origin.estimated)
    const { last } = asked.covers
    if (last === covers.last) {
      const context = { position: effective.at, digest, options: asked }
      const blocks = [...texts, ...pinned].map(textBlock)
      return {
        blocks,
        origin: { ...origin, ...(usage && { usage }), ...(estimated && { estimated }), context },
      }
    }
    const { images, longest } = asked
    const sent = { digest, images, ...(longest !== undefined && { longest }) }
    // The next part is requested in the form that the endpoint accepted for this one.
    const { along: taken = along } = asked
    options = {
      ...options,
      along: taken,
      parts: [...(options.parts ?? []), { last, text: texts.join('\n\n'), sent }],
    }
  }
}

interface Answer {
  readonly asked: SummaryOptions
  readonly request: SummaryRequest
  readonly texts: readonly string[]
  readonly origin: Origin
  /** Maximum tokens of a request, lowered after each refusal by the API. */
  readonly allowed: number
}

/**
 * Factor by which a request is made smaller if the API finds it too long, because estimates may be too low. `retries` is the maximum
 * number of such attempts per part.
 */
const shrink = 0.75
const retries = 3

/** Asks the model to summarize the rest of the slice, or as much of it as fits into a request. */
async function* ask(
  model: Model,
  limits: Omit<SummaryLimits, 'options'> & { readonly options: SummaryOptions },
  { effective, signal, failed }: Asking,
): Fallible<SummaryError, Answer> {
  const correction = Math.max(1, countTokens(effective).correction)
  let { allowed, options } = limits
  for (let tries = 0; ; tries++) {
    const asked = yield* unwrap(nextRequest(effective, options, { allowed, correction }))
    const request = requestOfSummary(effective, asked)
    const { chat: _chat, ...rendered } = request
    const asking = { ...rendered, ...alongSummary(request, asked) }
    const form = asked.along?.form
    const answer = await callModel(model, asking, {
      ...limits.patience,
      ...(signal && { signal }),
      ...(form && { form }),
    })
    failed.push(...failuresIn(E.isRight(answer) ? answer.right.origin : answer.left))
    if (E.isLeft(answer) && answer.left._tag === 'ContextExceeded' && tries < retries) {
      allowed = shrink * correction * estimateOfSummary(effective, asked)
      continue
    }
    const wanted = E.isLeft(answer) && answer.left._tag === 'ModelFailed' ? answer.left.form : undefined
    if (wanted && asked.along && tries < retries) {
      options = { ...options, along: { ...asked.along, form: wanted } }
      continue
    }
    const reply = yield* unwrap(answer)
    const { failed: _, ...told } = reply.origin
    const size = () => correction * estimateOfSummary(effective, asked)
    const origin = withEstimates(told, size, reply.content)
    const texts = textsOf(reply)
    if (E.isLeft(texts)) failed.push(failedCallOf({ ...origin, ...texts.left }))
    return { asked, request, texts: yield* unwrap(texts), origin, allowed }
  }
}
