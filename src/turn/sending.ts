import * as E from 'fp-ts/lib/Either.js'
import type { Receipt } from '../events/events.ts'
import { withSecrets } from '../events/secrets.ts'
import type { Effective } from '../projections/effective.ts'
import { type AskOptions, callModel, failedIn, withFailed } from '../models/asking.ts'
import { refusesContainer, type SentContainer, sentContainer } from '../receipts/containers.ts'
import { toldError, toldOf } from './echoes.ts'
import type { Model, ModelError, Reply } from '../models/model.ts'
import { outgoing } from '../receipts/outgoing.ts'
import { receiptOf } from '../receipts/receipt.ts'
import type { Requested, RequestOptions } from '../receipts/request.ts'

interface Sending {
  readonly client: Model
  readonly requestOptions: RequestOptions
  readonly askOptions: AskOptions
  /** The secrets that the references in the parameters stand for. */
  readonly secrets: ReadonlyMap<string, string>
}
/** The answer to a request, and the request's receipt. */
export interface Answered {
  readonly reply: E.Either<ModelError, Reply>
  readonly receipt: Receipt
}

/** Sends a request with its container and betas; if the API no longer accepts the container, sends it again without. */
export const send = async (
  now: Effective,
  rendered: Requested,
  { client, requestOptions, askOptions, secrets }: Sending,
): Promise<Answered> => {
  const betas = client.betas && { betas: client.betas }
  const { onRetry } = askOptions
  const asking: AskOptions = {
    ...askOptions,
    ...(onRetry && { onRetry: (retry) => onRetry({ ...retry, error: toldError(retry.error, secrets) }) }),
  }
  const attempt = async (container: SentContainer | undefined): Promise<Answered> => {
    const along = { ...betas, ...(container && { container }) }
    const receipt = receiptOf(now, rendered, requestOptions, along)
    const request = outgoing(now, rendered, { container })
    const parameters = withSecrets(request.parameters, secrets)
    const reply = await callModel(client, { ...request, parameters }, asking)
    return { reply: toldOf(reply, secrets), receipt }
  }
  // Only the Messages API has containers.
  const container = client.form ? undefined : sentContainer(now, Date.now())
  const first = await attempt(container)
  if (!container || E.isRight(first.reply) || !refusesContainer(first.reply.left, container)) return first
  const failed = failedIn(first.reply.left)
  const { reply, receipt } = await attempt({ ...container, left: 'refused' })
  const told: Answered['reply'] = E.isRight(reply)
    ? E.right({ ...reply.right, origin: withFailed(reply.right.origin, failed) })
    : E.left({ ...reply.left, failed: [...failed, ...failedIn(reply.left)] })
  return { reply: told, receipt }
}
