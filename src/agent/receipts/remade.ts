import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { ChatForm } from '../models/form.ts'
import type { ModelRequest } from '../models/model.ts'
import { chatBody } from '../models/openai/chat/chat.ts'
import type { Effective } from '../../projections/effective.ts'
import { render } from '../../projections/render/renderer.ts'
import type { ModelCall, UnprovenCall } from './calls.ts'
import type { SentRequest } from './canonical.ts'
import { bodyFormIn, checkCall, formIn, requestIn, type Unusable } from './made-again.ts'
import { asSent, buildRequest } from './build-request.ts'
import { recordedBody } from './recorded.ts'

// Functions that remake the request of a call from a history. They compute no hashes, so that they can run wherever the events are.

/** Request of a call, remade from the log. */
export interface RemadeCall {
  /** The request in the form of the Messages API. */
  readonly request: ModelRequest
  /** Body that was sent, if it has another form. */
  readonly body?: { readonly [field: string]: unknown }
  /** Names of the beta features that the call requested. */
  readonly betas?: readonly string[]
}

/**
 * Remakes the request of a call according to its receipt. Also returns the content that the receipt's digest covers (`made`).
 *
 * @param call a call that `checkCall` accepts
 * @param effective the history at the receipt's position
 */
export const remadeCall = (
  call: ModelCall,
  effective: Effective,
): E.Either<Unusable, RemadeCall & { readonly made: SentRequest }> =>
  pipe(
    requestIn(call, effective),
    E.map((made) => {
      const { betas, ...request } = asSent(call, effective, made)
      const form = formIn(call.receipt) as ChatForm | undefined
      const body = form
        ? chatBody(request, form)
        : made.strings && recordedBody(request, made.strings, bodyFormIn(call.receipt))
      return { made, request, ...(body && { body }), ...(betas && { betas }) }
    }),
  )

/**
 * Builds the request of a call without a receipt as it would be built today.
 *
 * @param effective the history right before the reply
 */
export const requestToday = (
  effective: Effective,
  rendered: SentRequest,
  model: string | undefined,
): ModelRequest => ({
  ...buildRequest(effective, rendered, { named: model }),
  ...(model !== undefined && { model }),
})

/**
 * Remakes the request of a call; undefined if its receipt cannot be used. For a call without a receipt, builds the request as it would
 * be built today.
 *
 * @param effectiveAt returns the history at a position
 */
export const requestOfCall = (
  call: ModelCall | UnprovenCall,
  effectiveAt: (position: number) => Effective,
): RemadeCall | undefined => {
  if ('receipt' in call) {
    if (E.isLeft(checkCall(call))) return undefined
    const remade = remadeCall(call, effectiveAt(call.receipt.position))
    if (E.isLeft(remade)) return undefined
    const { made: _, ...its } = remade.right
    return its
  }
  const now = effectiveAt(call.position - 1)
  return { request: requestToday(now, render(now), call.origin.model) }
}
