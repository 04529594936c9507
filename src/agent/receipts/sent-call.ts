import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { invalidInput } from '../../events/errors.ts'
import { isFields } from '../../events/json.ts'
import type { ChatForm } from '../models/form.ts'
import { callBody } from '../models/anthropic/body.ts'
import { chatCallBody } from '../models/openai/body.ts'
import { catchTyped, unwrap, type Fallible, task } from '../../result/fallible.ts'
import type { ReadError } from '../../store/errors.ts'
import { callsIn, type ModelCall } from './calls.ts'
import { callOutOfRange, type CallOutOfRange, type UnknownRenderer } from './errors.ts'
import { type FindingDetails, diagnoseReceipt, hasBody } from './finding.ts'
import { bodyFormIn, checkCall, formIn, reasonOf, type Unusable } from './made-again.ts'
import { fingerprintsIn } from './receipt-blocks.ts'
import { hasDigest } from './receipt-digest.ts'
import { type RemadeCall, remadeCall } from './remade.ts'

/** Model call with its request, remade from the log. */
export interface SentCall extends ModelCall, RemadeCall {
  /** True if the remade request has the digest in the receipt, and the bytes that a recorder saw. */
  readonly isSame: boolean
  /**
   * Difference between the remade request and the receipt, if any. The repairs or the container may differ even if the digest is the
   * same.
   */
  readonly finding?: FindingDetails
}

/**
 * Returns a model call with its complete request, as it was sent.
 *
 * Errors: `CallOutOfRange`; `UnknownRenderer` and `InvalidInput` if the receipt cannot be used.
 *
 * @param call number of the call, from 1, or a listed call, which saves counting the calls before it; default: the last call
 */
export const loadSentCall = (
  chat: Source,
  call?: number | ModelCall,
): TaskEither<ReadError | CallOutOfRange | UnknownRenderer, SentCall> => task(() => sent(chat, call))

type Source = Pick<ConversationHandle, 'id' | 'events' | 'context'>

async function* sent(
  chat: Source,
  asked: number | ModelCall | undefined,
): Fallible<ReadError | CallOutOfRange | UnknownRenderer, SentCall> {
  if (asked !== undefined && typeof asked !== 'number' && !isCall(asked))
    return yield invalidInput('call', 'must be a call number, from 1, or a listed call')
  const call = typeof asked === 'object' ? asked : yield* callOf(chat, asked)
  const ofCall = unusableOf(call)
  // Checked before anything is read, because an unusable receipt may have no valid position.
  yield* unwrap(ofCall(checkCall(call)))
  const effective = yield* unwrap(chat.context({ at: call.receipt.position }))
  const { made, ...remade } = yield* unwrap(ofCall(remadeCall(call, effective)))
  const isSame = hasDigest(call.receipt, effective, made) && hasBody(call, effective, made)
  const prints = isSame ? undefined : printsOf(yield* callsOf(chat), call)
  const finding = diagnoseReceipt(call, effective, prints)
  return {
    ...call,
    ...remade,
    isSame,
    ...(finding && { finding }),
  }
}

async function* callOf(
  chat: Source,
  number: number | undefined,
): Fallible<ReadError | CallOutOfRange, ModelCall> {
  const calls = yield* callsOf(chat)
  return calls[(number ?? calls.length) - 1] ?? (yield callOutOfRange(chat.id, number, calls.length))
}

/** Reports whether a value from untyped JavaScript is a `ModelCall`. */
const isCall = (call: unknown): boolean =>
  isFields(call) &&
  typeof call['number'] === 'number' &&
  isFields(call['receipt']) &&
  isFields(call['receipt']['options'])

/**
 * Returns the body of a call as JSON, as this library's adapters or the recorded program send it. Without a receipt, the body has the
 * form of the Messages API.
 */
export const bodySent = ({
  request,
  body,
  receipt,
}: Pick<SentCall, 'request' | 'body'> & Partial<ModelCall>): string => {
  const form = receipt && (formIn(receipt) as ChatForm | undefined)
  if (form) return JSON.stringify(chatCallBody(request, form))
  // A recorder saw whether the reply was streamed.
  if (body && receipt && bodyFormIn(receipt)) return JSON.stringify(body)
  return JSON.stringify(body ? { ...body, stream: true } : callBody(request))
}

/** Returns the fingerprints of a call's request; undefined if a receipt that it builds on is missing. */
const printsOf = (calls: readonly ModelCall[], { number, receipt }: ModelCall): string | undefined => {
  const prints = new Map<number, string>()
  for (const call of calls.slice(0, number - 1)) {
    const own = fingerprintsIn(call.receipt, (base) => prints.get(base))
    if (own !== undefined) prints.set(call.position, own)
  }
  return fingerprintsIn(receipt, (base) => prints.get(base))
}

const callsOf = (chat: Source): Fallible<ReadError, readonly ModelCall[]> =>
  catchTyped(async () => {
    const calls: ModelCall[] = []
    for await (const call of callsIn(chat.events())) calls.push(call)
    return calls
  })

/** Returns a function that names the call in the error of an unusable receipt. */
const unusableOf = ({ number, position }: ModelCall) =>
  E.mapLeft((error: Unusable): Unusable => ({
    ...error,
    message: `the receipt of call ${number} (answered at position ${position}) cannot be used: ${reasonOf(error)}; run verify --receipts to list all such calls`,
  }))
