import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Conversation } from '../conversation/conversation.ts'
import { invalidInput } from '../events/errors.ts'
import type { ModelRequest } from '../models/model.ts'
import type { Effective } from '../projections/effective.ts'
import type { ReadError } from '../store/errors.ts'
import { callsIn, type ModelCall } from './calls.ts'
import { digestOf, type Sent } from './canonical.ts'
import { callOutOfRange, type CallOutOfRange, type UnknownRenderer } from './errors.ts'
import { checkCall, reasonOf, requestIn, type Unusable } from './made-again.ts'
import { asSent } from './outgoing.ts'

/** A call with its request, made again from the log. */
export interface SentCall extends ModelCall {
  readonly request: ModelRequest
  /** Beta features that were asked for with it. */
  readonly betas?: readonly string[]
  /** Whether the request has the digest that the receipt says. */
  readonly isSame: boolean
}

/**
 * A call of a model with its whole request, as it was sent.
 *
 * Errors: `CallOutOfRange`; `UnknownRenderer` and `InvalidInput` where the receipt cannot be used.
 *
 * @param number of the call, from 1; the last one by default
 */
export const sentCall = (
  chat: Pick<Conversation, 'id' | 'events' | 'view'>,
  number?: number,
): TE.TaskEither<ReadError | CallOutOfRange | UnknownRenderer, SentCall> =>
  pipe(
    TE.tryCatch(
      async () => {
        const calls: ModelCall[] = []
        for await (const call of callsIn(chat.events())) calls.push(call)
        return calls
      },
      (error) => error as ReadError,
    ),
    TE.filterOrElse(
      () => number === undefined || typeof number === 'number',
      (): ReadError => invalidInput('call', 'is the number of a call, from 1'),
    ),
    TE.flatMap((calls) => {
      const call = calls[(number ?? calls.length) - 1]
      return call ? TE.right(call) : TE.left(callOutOfRange(chat.id, number, calls.length))
    }),
    TE.flatMapEither((call) => unusableOf(call)(checkCall(call))),
    TE.bindTo('call'),
    TE.bindW('effective', ({ call }) => chat.view({ at: call.receipt.position })),
    TE.flatMapEither(({ call, effective }) =>
      pipe(
        requestIn(call, effective),
        unusableOf(call),
        E.map((sent) => sentOf(call, effective, sent)),
      ),
    ),
  )

/** Says of which call the receipt is that cannot be used. */
const unusableOf = ({ number, position }: ModelCall) =>
  E.mapLeft((error: Unusable): Unusable => ({
    ...error,
    message: `the receipt of call ${number} (answered at position ${position}) cannot be used: ${reasonOf(error)}; verify --receipts lists every call like it`,
  }))

const sentOf = (call: ModelCall, effective: Effective, sent: Sent): SentCall => {
  const { betas, ...request } = asSent(call, effective, sent)
  return { ...call, request, ...(betas && { betas }), isSame: digestOf(sent) === call.receipt.digest }
}
