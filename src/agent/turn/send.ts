import * as E from 'fp-ts/lib/Either.js'
import type { Receipt } from '../../events/events.ts'
import { withSecrets } from '../../events/secrets.ts'
import type { Effective } from '../../projections/effective.ts'
import { type ModelRetryOptions, callModel, failuresIn, withFailed } from '../models/call-model.ts'
import { withEstimates } from '../context/tokens/estimates.ts'
import { countTokens } from '../context/tokens/tokens.ts'
import { refusesContainer, type SentContainer, containerToSend } from '../receipts/containers.ts'
import { redactError, redactAnswer } from './echoes.ts'
import type { Model, ModelError, Reply } from '../models/model.ts'
import { buildRequest } from '../receipts/build-request.ts'
import { receiptOf } from '../receipts/receipt.ts'
import { type RenderedRequest, type RequestOptions, requestOf } from '../receipts/request.ts'

interface Sending {
  readonly client: Model
  readonly requestOptions: RequestOptions
  readonly askOptions: ModelRetryOptions
  /** Secrets to send in place of the references in the parameters. */
  readonly secrets: ReadonlyMap<string, string>
}
/** Reply to a request, or the error, and the request's receipt. */
export interface SendResult {
  readonly reply: E.Either<ModelError, Reply>
  readonly receipt: Receipt
}

/** A request in one of the forms in which it can be sent. */
interface Attempt {
  readonly request: RenderedRequest
  readonly options: RequestOptions
  readonly container: SentContainer | undefined
}

/**
 * Sends a request with its container and betas. If the API no longer accepts the container, the request is sent again without it; if
 * the endpoint requires another form, the request is sent again in that form.
 */
export const send = async (
  now: Effective,
  rendered: RenderedRequest,
  { client, requestOptions, askOptions, secrets }: Sending,
): Promise<SendResult> => {
  const betas = client.betas && { betas: client.betas }
  const { onRetry } = askOptions
  const asking: ModelRetryOptions = {
    ...askOptions,
    ...(onRetry && { onRetry: (retry) => onRetry({ ...retry, error: redactError(retry.error, secrets) }) }),
  }
  const attempt = async ({ request: made, options, container }: Attempt): Promise<SendResult> => {
    const along = { ...betas, ...(container && { container }) }
    const receipt = receiptOf(now, made, options, along)
    const request = buildRequest(now, made, { container })
    const parameters = withSecrets(request.parameters, secrets)
    const { form } = options
    const reply = await callModel(client, { ...request, parameters }, { ...asking, ...(form && { form }) })
    return { reply: estimated(now, redactAnswer(reply, secrets)), receipt }
  }
  /** Returns another form of the request, if that form avoids the reason for the API's refusal. */
  const otherThan = (tried: Attempt, error: ModelError): Attempt | undefined => {
    const { container, options } = tried
    if (container && refusesContainer(error, container))
      return { ...tried, container: { ...container, left: 'refused' } }
    const form = error._tag === 'ModelFailed' ? error.form : undefined
    if (!form) return undefined
    const made = requestOf(now, { ...options, form })
    const isAllowed = asking.onRetry?.({ error, wait: 0, try: 2, failed: failuresIn(error) }) ?? true
    return E.isRight(made) && isAllowed
      ? { container, request: made.right, options: { ...options, form } }
      : undefined
  }
  // Only the Messages API has containers.
  const container = client.form ? undefined : containerToSend(now, Date.now())
  const first: Attempt = { request: rendered, options: requestOptions, container }
  const answered = await attempt(first)
  const next = E.isLeft(answered.reply) ? otherThan(first, answered.reply.left) : undefined
  if (!next || E.isRight(answered.reply)) return answered
  const failed = failuresIn(answered.reply.left)
  const { reply, receipt } = await attempt(next)
  const told: SendResult['reply'] = E.isRight(reply)
    ? E.right({ ...reply.right, origin: withFailed(reply.right.origin, failed) })
    : E.left({ ...reply.left, failed: [...failed, ...failuresIn(reply.left)] })
  return { reply: told, receipt }
}

/** Returns the same answer, with estimates for missing token counts. */
const estimated = (now: Effective, answer: SendResult['reply']): SendResult['reply'] => {
  const counted = (reply: Reply): Reply => ({
    ...reply,
    origin: withEstimates(reply.origin, () => countTokens(now).total, reply.content),
  })
  if (E.isRight(answer)) return E.right(counted(answer.right))
  const { partial } = answer.left
  return partial ? E.left({ ...answer.left, partial: counted(partial) }) : answer
}
