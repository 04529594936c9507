import { type Input, inputOf } from './prompt-cache.ts'
import {
  type Body,
  type Model,
  problem,
  type Problem,
  readRequest,
  type Request,
  shapeProblem,
} from './request.ts'
import { ruleProblem } from './rules.ts'
import type { Signatures } from './signatures.ts'

/** A valid request. */
export interface Valid {
  readonly request: Request
  readonly model: Model
  readonly input: Input
}

export interface Validity {
  /** By name. */
  readonly models: ReadonlyMap<string, Model>
  readonly signer: Signatures
  /** How many of a request's last blocks are a reply that said `pause_turn`. */
  readonly pausedIn: (request: Request) => number
}

const limitProblem = ({ max_tokens, model: name }: Body, { maxOutput }: Model): Problem | undefined => {
  if (max_tokens === undefined) return problem('max_tokens: Field required')
  if (!Number.isInteger(max_tokens)) return problem('max_tokens: Input should be a valid integer')
  if (max_tokens < 0) return problem('max_tokens: Input should be greater than or equal to 0')
  return max_tokens > maxOutput
    ? problem(
        `max_tokens: ${max_tokens} > ${maxOutput}, which is the maximum allowed number of output tokens for ${name}`,
      )
    : undefined
}

/** @param isCount whether the request only counts tokens, without a limit and without `max_tokens` */
export const validate = (
  body: unknown,
  isCount: boolean,
  { models, signer, pausedIn }: Validity,
): Valid | Problem => {
  const shape = shapeProblem(body)
  if (shape !== undefined) return problem(shape)
  const request = readRequest(body as Body)
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
