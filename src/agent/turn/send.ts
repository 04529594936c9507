import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { Receipt } from '../../events/events.ts'
import { withoutEchoes, withSecrets } from '../../events/secrets.ts'
import type { Effective } from '../../projections/effective.ts'
import { type Retry, callModel, failuresIn, withFailed } from '../models/call-model.ts'
import { withEstimates } from '../context/tokens/estimates.ts'
import { countTokens } from '../context/tokens/tokens.ts'
import { refusesContainer, type SentContainer, containerToSend } from '../receipts/containers.ts'
import { errorText } from '../models/error-text.ts'
import type { ModelError, Reply } from '../models/model.ts'
import { buildRequest } from '../receipts/build-request.ts'
import { receiptOf } from '../receipts/receipt.ts'
import { type RenderedRequest, type RequestOptions, requestOf } from '../receipts/request.ts'
import type { PreparedRequest } from './next-action.ts'
import { type ResolvedTurnOptions, withoutUndefined } from './options.ts'
import { deltas } from './stream/deltas.ts'
import { unheard } from './stream/turn-event.ts'

interface Sending {
  readonly options: ResolvedTurnOptions
  /** Secrets to send in place of the references in the parameters. */
  readonly secrets: Secrets
  readonly signal: AbortSignal
  /** Called before each further attempt; if it returns false, the attempt is not made. */
  readonly onRetry: (retry: Retry) => boolean
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

/** Sends a request; sends it again if the API no longer accepts its container, or the endpoint requires another form. */
export const send = async (
  now: Effective,
  { request, requestOptions }: PreparedRequest,
  { options: { client, emit, onEvent, stallTimeout, maxRetries }, secrets, signal, onRetry }: Sending,
): Promise<SendResult> => {
  const betas = client.betas && { betas: client.betas }
  const asking = withoutUndefined({
    signal,
    stallTimeout,
    maxRetries,
    onRetry: (retry: Retry) => onRetry({ ...retry, error: redactError(retry.error, secrets) }),
    onEvent: emit === unheard ? onEvent : deltas(emit, onEvent),
  })
  const attempt = async ({ request: made, options, container }: Attempt): Promise<SendResult> => {
    const along = { ...betas, ...(container && { container }) }
    const receipt = receiptOf(now, made, options, along)
    const built = buildRequest(now, made, { container })
    const parameters = withSecrets(built.parameters, secrets)
    const { form } = options
    const reply = await callModel(client, { ...built, parameters }, { ...asking, ...(form && { form }) })
    const redacted = E.isRight(reply)
      ? E.right(redactReply(reply.right, secrets))
      : E.left(redactError(reply.left, secrets))
    return { reply: estimated(now, redacted), receipt }
  }
  /** Returns another form of the request, if that form avoids the reason for the API's refusal. */
  const otherThan = (tried: Attempt, error: ModelError): Attempt | undefined => {
    const { container, options } = tried
    if (container && refusesContainer(error, container))
      return { ...tried, container: { ...container, left: 'refused' } }
    const form = error._tag === 'ModelFailed' ? error.form : undefined
    if (!form) return undefined
    const made = requestOf(now, { ...options, form })
    const isAllowed = onRetry({ error, wait: 0, try: 2, failed: failuresIn(error) })
    return E.isRight(made) && isAllowed
      ? { container, request: made.right, options: { ...options, form } }
      : undefined
  }
  // Only the Messages API has containers.
  const container = client.form ? undefined : containerToSend(now, Date.now())
  const first: Attempt = { request, options: requestOptions, container }
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

type Secrets = ReadonlyMap<string, string>

/** Removes secrets that the API may have quoted from the request. The model's own content stays verbatim. */
const redactReply = ({ content, origin }: Reply, secrets: Secrets): Reply => ({
  content,
  origin: withoutEchoes(origin, secrets),
})

const redactError = <A extends ModelError>(error: A, secrets: Secrets): A => {
  if (secrets.size === 0) return error
  const { _tag, cause, partial, ...facts } = error
  return {
    ...error,
    ...withoutEchoes(facts, secrets),
    ...(partial && { partial: redactReply(partial, secrets) }),
    ...(cause !== undefined && { cause: causeOf(cause, secrets) }),
  }
}

/** Returns the cause of an error. If it shows a secret anywhere, only its text is kept, with the secret removed. */
const causeOf = (cause: unknown, secrets: Secrets): unknown => {
  const told = shownOf(cause)
  const text = errorText(cause)
  return withoutEchoes(told, secrets) === told ? cause : new Error(withoutEchoes(text, secrets))
}

const shownOf = (cause: unknown): string => {
  try {
    return inspect(cause, { depth: 8, showHidden: false, maxStringLength: null, maxArrayLength: null })
  } catch {
    return errorText(cause)
  }
}
