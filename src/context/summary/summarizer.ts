import * as E from 'fp-ts/lib/Either.js'
import type { Block } from '../../events/blocks.ts'
import type { InvalidInput } from '../../events/errors.ts'
import type { Covers, Origin } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { callModel, failedCall, failedIn, withFailed } from '../../models/asking.ts'
import { digestOf } from '../../receipts/canonical.ts'
import type { SummaryFailed } from './errors.ts'
import type { FailedCall, Model, ModelError } from '../../models/model.ts'
import { sliceOf } from '../../projections/effective.ts'
import { estimateOfSummary, nextRequest } from './parts.ts'
import { isVisible, sumOfUsage, textsOf } from './reply.ts'
import {
  alongSummary,
  requestOfSummary,
  type SummaryOptions,
  type SummaryRequest,
} from '../../receipts/summary-request.ts'
import { type SummarizerSettings, type SummaryLimits, summaryLimitsOf } from './settings.ts'
import { countTokens } from '../tokens/tokens.ts'

export type { SummarizerSettings }

/** What to summarize: a slice of what is shown. */
export interface SummaryInput {
  readonly effective: Effective
  readonly covers: Covers
  readonly signal?: AbortSignal
}
/** What is to stand for the slice, as a user message, and where it came from. */
export interface Summarized {
  readonly blocks: readonly Block[]
  readonly origin?: Origin
}
export type SummaryError = ModelError | SummaryFailed | InvalidInput

/**
 * Summarizes a slice. Writes nothing.
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
export type Summarizer = (input: SummaryInput) => Promise<Summarized | E.Either<SummaryError, Summarized>>

/**
 * A summarizer that asks a model. What does not fit into a request is summarized in parts, each after the summary of those before
 * it. `origin.usage` is of all requests together, `origin.context` the receipt of the last one. How: docs/summaries.md.
 * Errors: `InvalidInput` for settings that cannot be, `SummaryFailed` for a reply that is no whole summary; an abort and a missed
 * deadline are `ModelAborted`.
 */
export const summarizer = (
  model: Model,
  settings: SummarizerSettings,
): ((input: SummaryInput) => Promise<E.Either<SummaryError, Required<Summarized>>>) => {
  const checked = summaryLimitsOf(settings)
  return async (input) => {
    if (E.isLeft(checked)) return checked
    const { deadline } = checked.right
    const signal = AbortSignal.any([
      ...(input.signal ? [input.signal] : []),
      ...(deadline === undefined ? [] : [AbortSignal.timeout(deadline)]),
    ])
    const failed: FailedCall[] = []
    const summarized = await summarize(model, checked.right, { ...input, signal, failed })
    if (failed.length === 0) return summarized
    return E.isLeft(summarized)
      ? E.left({ ...summarized.left, failed })
      : E.right({ ...summarized.right, origin: withFailed(summarized.right.origin, failed) })
  }
}

/** What to summarize, and the calls that were made in vain meanwhile. */
interface Asking extends SummaryInput {
  readonly failed: FailedCall[]
}

const summarize = async (
  model: Model,
  limits: SummaryLimits,
  input: Asking,
): Promise<E.Either<SummaryError, Required<Summarized>>> => {
  const { effective, covers } = input
  const pinned = limits.pinned(sliceOf(effective, covers)).filter(isVisible)
  const along = {
    model: limits.model,
    max_tokens: limits.maxTokens,
    ...(model.betas && { betas: model.betas }),
  }
  let options: SummaryOptions = { ...limits.options, along, covers }
  let usage: Origin['usage']
  let { allowed } = limits
  for (;;) {
    const answer = await ask(model, { ...limits, allowed, options }, input)
    if (E.isLeft(answer)) return answer
    const { asked, request, texts, origin } = answer.right
    ;({ allowed } = answer.right)
    usage = usage && origin.usage ? sumOfUsage(usage, origin.usage) : (origin.usage ?? usage)
    const { last } = asked.covers
    if (last === covers.last) {
      const context = { position: effective.at, digest: digestOf(request), options: asked }
      const blocks = [...texts, ...pinned].map((text): Block => ({ type: 'text', text }))
      return E.right({ blocks, origin: { ...origin, ...(usage && { usage }), context } })
    }
    const { images, longest } = asked
    const sent = { digest: digestOf(request), images, ...(longest !== undefined && { longest }) }
    options = { ...options, parts: [...(options.parts ?? []), { last, text: texts.join('\n\n'), sent }] }
  }
}

/** A reply, and what it is the answer to. */
interface Answer {
  readonly asked: SummaryOptions
  readonly request: SummaryRequest
  readonly texts: readonly string[]
  readonly origin: Origin
  /** Tokens that a request may have, by what the API has refused so far. */
  readonly allowed: number
}

/** Estimates may be too low: what is sent after a request that the API finds too long is so much smaller than that one; so often for one part. */
const shrink = 0.75
const retries = 3

/** Asks for a summary of what is left of the slice, or of as much of it as fits. */
const ask = async (
  model: Model,
  limits: Omit<SummaryLimits, 'options'> & { readonly options: SummaryOptions },
  { effective, signal, failed }: Asking,
): Promise<E.Either<SummaryError, Answer>> => {
  const correction = Math.max(1, countTokens(effective).correction)
  let { allowed } = limits
  for (let tries = 0; ; tries++) {
    const next = nextRequest(effective, limits.options, { allowed, correction })
    if (E.isLeft(next)) return next
    const request = requestOfSummary(effective, next.right)
    const asking = { ...request, ...alongSummary(request, next.right) }
    const reply = await callModel(model, asking, { ...limits.patience, ...(signal && { signal }) })
    failed.push(...failedIn(E.isRight(reply) ? reply.right.origin : reply.left))
    if (E.isLeft(reply) && reply.left._tag === 'ContextExceeded' && tries < retries) {
      allowed = shrink * correction * estimateOfSummary(effective, next.right)
      continue
    }
    if (E.isLeft(reply)) return reply
    const { failed: _, ...origin } = reply.right.origin
    const texts = textsOf(reply.right)
    if (E.isLeft(texts)) failed.push(failedCall({ ...origin, ...texts.left }))
    return E.map((said: readonly string[]) => ({ asked: next.right, request, texts: said, origin, allowed }))(
      texts,
    )
  }
}
