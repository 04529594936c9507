import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { check } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, evolved } from '../projections/effective.ts'
import type { Conversation } from '../conversation/conversation.ts'
import { type ReadError, toError } from '../store/errors.ts'
import { callsIn, callsOf, type ModelCall } from './calls.ts'
import { digestOf, type Sent } from './canonical.ts'
import { containerFor } from './containers.ts'
import { callOutOfRange, type CallOutOfRange, unknownRenderer, type UnknownRenderer } from './errors.ts'
import type { ModelRequest } from '../models/model.ts'
import { asSent } from './outgoing.ts'
import {
  compareReceipt,
  type Difference,
  fingerprintsIn,
  type ReceiptOptions,
  receiptOptionsIn,
} from './receipt.ts'
import { currentRenderer, requestOf } from './request.ts'
import { currentSummarizer, requestOfSummary, summaryOptionsSchema } from './summary-request.ts'

/** A call whose request is not, or cannot be shown to be, the one that its receipt is of. */
export interface ReceiptFinding {
  /** Undefined for `missing`: what has no receipt is no call that is counted. */
  readonly call?: number
  /** Position of the answer. */
  readonly position: number
  /** As `Difference`; `receipt`: it cannot be used; `renderer`: a newer version made the request; `missing`: there is none. */
  readonly kind: Difference['kind'] | 'receipt' | 'renderer' | 'missing'
  readonly message: string
  /** With `block`: where the first difference is, and type and beginning of what stands there now, if anything does. */
  readonly path?: string
  readonly now?: string
}
export interface ReceiptsVerified {
  readonly conversation: string
  /** Calls whose request was made again, the same to the byte. */
  readonly receipts: number
  readonly findings: readonly ReceiptFinding[]
}
/** A call with its request, made again from the log. */
export interface SentCall extends ModelCall {
  readonly request: ModelRequest
  /** Beta features that were asked for with it. */
  readonly betas?: readonly string[]
  /** Whether the request has the digest that the receipt says. */
  readonly isSame: boolean
}

type Read<A> = TE.TaskEither<ReadError, A>
type Source = Pick<Conversation, 'id' | 'events' | 'view'>

/** The calls of a model in a conversation. Iteration throws a `ReadError`. */
export const modelCalls = (chat: Pick<Conversation, 'events'>): AsyncIterable<ModelCall> =>
  callsIn(chat.events())

/**
 * Makes the request of every call again from the log and compares it with its receipt: of calls on every branch, those that a fork
 * inherited and those for summaries included. A difference is an answer, not an error.
 *
 * Memory: what is shown, and the fingerprints of the receipts.
 */
export const verifyReceipts = (chat: Source): Read<ReceiptsVerified> =>
  TE.tryCatch(
    () => verified(chat),
    (error) => error as ReadError,
  )

const verified = async (chat: Source): Promise<ReceiptsVerified> => {
  const history = historyOf(chat)
  const prints = new Map<number, string>()
  const findings: ReceiptFinding[] = []
  let number = 1
  for await (const event of chat.events()) {
    for (const call of callsOf(event, number)) {
      const { position, receipt } = call
      const own = fingerprintsIn(receipt, (base) => prints.get(base))
      if (own !== undefined) prints.set(position, own)
      const usable = checkCall(call)
      const found = E.isRight(usable)
        ? findingIn(call, await history.at(receipt.position), own)
        : problemIn(usable.left)
      if (found) findings.push({ call: number, position, ...found })
      number++
    }
    if (number > 1 && isUnproven(event)) findings.push({ position: event.position, ...missing })
    history.pass(event)
  }
  const wrong = findings.filter(({ call }) => call !== undefined).length
  return { conversation: chat.id, receipts: number - 1 - wrong, findings }
}

const missing = {
  kind: 'missing',
  message: 'nothing says what the model was sent for this reply, and replies before it have receipts',
} as const

/** Whether an event is a model's reply, by its own account, that has no receipt. */
const isUnproven = (event: ConversationEvent): boolean => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return false
  const { model, requestId, usage, context } = event.data.origin ?? {}
  return !context && (model !== undefined || requestId !== undefined || usage !== undefined)
}

/** Why a receipt cannot be used. */
type Unusable = InvalidInput | UnknownRenderer

/** Checks what can be told without the log. The version first: a newer one has options of its own. */
const checkCall = (call: ModelCall): E.Either<Unusable, ModelCall> => {
  const { kind, position, receipt } = call
  const [what, newest] =
    kind === 'summary'
      ? (['summarizer', currentSummarizer] as const)
      : (['renderer', currentRenderer] as const)
  const version = receipt.options[what]
  if (typeof version === 'number' && version > newest) {
    const known = Array.from({ length: newest }, (_, index) => index + 1)
    return E.left(unknownRenderer(version, known, what))
  }
  return receipt.position < position
    ? E.right(call)
    : E.left(invalidInput('position', `${receipt.position} is not before the answer`))
}

type Found = Omit<ReceiptFinding, 'call' | 'position'>

const findingIn = (call: ModelCall, effective: Effective, prints: string | undefined): Found | undefined => {
  const { receipt } = call
  if (call.kind === 'summary') {
    const made = requestIn(call, effective)
    if (E.isLeft(made)) return problemIn(made.left)
    return digestOf(made.right) === receipt.digest ? undefined : differenceIn({ kind: 'digest' })
  }
  const options = receiptOptionsIn(receipt)
  if (E.isLeft(options)) return problemIn(options.left)
  const rendered = requestOf(effective, options.right)
  if (E.isLeft(rendered)) return problemIn(rendered.left)
  const difference =
    compareReceipt(rendered.right, receipt, options.right, prints) ??
    compareContainer(effective, options.right)
  return difference && differenceIn(difference)
}

/** The request of a call, made again. */
const requestIn = ({ kind, receipt }: ModelCall, effective: Effective): E.Either<Unusable, Sent> =>
  kind === 'summary'
    ? pipe(
        check(summaryOptionsSchema, receipt.options),
        E.map((options) => requestOfSummary(effective, options)),
      )
    : pipe(
        receiptOptionsIn(receipt),
        E.flatMap((options) => requestOf(effective, options)),
      )

const problemIn = (error: Unusable): Found =>
  error._tag === 'UnknownRenderer'
    ? { kind: 'renderer', message: reasonOf(error) }
    : { kind: 'receipt', message: `its receipt cannot be used: ${reasonOf(error)}` }

const reasonOf = ({ _tag, message }: Unusable): string =>
  _tag === 'UnknownRenderer' ? message : `it was changed, or another program wrote it (${message})`

const compareContainer = (effective: Effective, { container }: ReceiptOptions): Difference | undefined => {
  const newest = containerFor(effective)?.id
  return newest === container?.id ? undefined : { kind: 'container', named: container?.id, newest }
}

const differenceIn = (difference: Difference): Found => {
  const message = messageOf(difference)
  if (difference.kind !== 'block') return { kind: difference.kind, message }
  return { ...difference, message }
}

const messageOf = (difference: Difference): string => {
  switch (difference.kind) {
    case 'block':
      return difference.now === undefined
        ? `the request ended later: there is no ${difference.path} now`
        : `${difference.path} is not what was sent; now it is ${difference.now}`
    case 'breakpoints':
      return 'its blocks are what was sent, but not their cache breakpoints, or the digest was changed'
    case 'digest':
      return 'the request is not what was sent; the receipt does not say where'
    case 'container':
      return `the receipt names ${difference.named === undefined ? 'no container' : `the container ${difference.named}`}; the newest on the path is ${difference.newest ?? 'none'}`
    case 'repairs':
      return `the request is what was sent, but with other repairs: ${JSON.stringify(difference.repairs)}`
  }
}

/**
 * The effective history at positions that mostly ascend, while the events of the log pass by: goes on from what it was, and loads it
 * anew only behind a jump.
 */
const historyOf = (chat: Source) => {
  let known: Effective | undefined
  /** Events that passed since. */
  let since: ConversationEvent[] = []
  let last = -1
  return {
    pass: (event: ConversationEvent): void => {
      last = event.position
      if (known) since.push(event)
    },
    /** At a position that has passed. Throws a `ReadError`. */
    at: async (position: number): Promise<Effective> => {
      if (known && position >= known.at) {
        const next = evolved(
          known,
          since.filter((event) => event.position <= position),
        )
        // Undefined behind a jump.
        if (next) {
          known = next
          since = since.filter((event) => event.position > position)
          return next
        }
      }
      const loaded = await chat.view({ at: position })()
      if (E.isLeft(loaded)) throw toError(loaded.left)
      if (position === last) {
        known = loaded.right
        since = []
      }
      return loaded.right
    },
  }
}

/**
 * A call of a model with its whole request, as it was sent.
 *
 * Errors: `CallOutOfRange`; `UnknownRenderer` and `InvalidInput` where the receipt cannot be used.
 *
 * @param number of the call, from 1; the last one by default
 */
export const sentCall = (
  chat: Source,
  number?: number,
): TE.TaskEither<ReadError | CallOutOfRange | UnknownRenderer, SentCall> =>
  pipe(
    TE.tryCatch(
      async () => {
        const calls: ModelCall[] = []
        for await (const call of modelCalls(chat)) calls.push(call)
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
