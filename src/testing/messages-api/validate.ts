import { type Input, inputOf } from './prompt-cache.ts'
import {
  type ApiRequest,
  type ApiModel,
  problem,
  type ApiRefusal,
  readRequest,
  type ParsedRequest,
  shapeProblem,
} from './request.ts'
import { ruleProblem } from './rules.ts'
import type { Signatures } from './signatures.ts'

export interface Valid {
  readonly request: ParsedRequest
  readonly model: ApiModel
  readonly input: Input
}

export interface Validity {
  readonly models: ReadonlyMap<string, ApiModel>
  readonly signer: Signatures
  /** Returns the number of blocks at the end of a request that repeat a reply stopped with `pause_turn`. */
  readonly pausedIn: (request: ParsedRequest) => number
}

const limitProblem = (
  { max_tokens, model: name }: ApiRequest,
  { maxOutput }: ApiModel,
): ApiRefusal | undefined => {
  if (max_tokens === undefined) return problem('max_tokens: Field required')
  if (!Number.isInteger(max_tokens)) return problem('max_tokens: Input should be a valid integer')
  if (max_tokens < 0) return problem('max_tokens: Input should be greater than or equal to 0')
  return max_tokens > maxOutput
    ? problem(
        `max_tokens: ${max_tokens} > ${maxOutput}, which is the maximum allowed number of output tokens for ${name}`,
      )
    : undefined
}

/**
 * Validates the body of a request.
 *
 * @param isCount true if the request only counts tokens; it then needs no `max_tokens` and may exceed the context window
 */
export const validate = (
  body: unknown,
  isCount: boolean,
  { models, signer, pausedIn }: Validity,
): Valid | ApiRefusal => {
  const shape = shapeProblem(body)
  if (shape !== undefined) return problem(shape)
  const request = readRequest(body as ApiRequest)
  const model = models.get(request.body.model)
  if (!model) return { ...problem(`model: ${request.body.model}`), status: 404 }
  const found =
    (isCount ? undefined : limitProblem(request.body, model)) ??
    ruleProblem(request, model, pausedIn(request)) ??
    signer.problem(request)
  if (found) return found
  const input = inputOf(request)
  return isCount || input.tokens <= model.contextWindow
    ? { request, model, input }
    : problem(`prompt is too long: ${input.tokens} tokens > ${model.contextWindow} maximum`)
}
