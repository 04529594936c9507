import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { catchTyped, orThrow, task } from '../../result/fallible.ts'
import type { ConversationEvent } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import type { ReadError } from '../../store/errors.ts'
import { callsIn, createCallCounter, isUnproven, type ModelCall, needsReceipt } from './calls.ts'
import { type FindingDetails, diagnoseReceipt, problemIn, type ReceiptFinding } from './finding.ts'
import { checkCall } from './made-again.ts'
import { historyOf } from './history-of.ts'
import { fingerprintsIn } from './receipt-blocks.ts'

export interface ReceiptVerification {
  readonly conversation: string
  /** Number of calls whose remade request matches the receipt, byte for byte. */
  readonly receipts: number
  readonly findings: readonly ReceiptFinding[]
  /**
   * Number of calls whose request showed content that was erased, and is therefore not checkable any more; absent if there are none.
   */
  readonly erased?: number
}

type Source = Pick<ConversationHandle, 'id' | 'events' | 'context'>

/** Yields the model calls of a conversation that have a receipt. Throws a `ReadError` during iteration if reading fails. */
export const modelCalls = (chat: Pick<ConversationHandle, 'events'>): AsyncIterable<ModelCall> =>
  callsIn(chat.events())

/**
 * Remakes the request of every model call from the log and compares the request with its receipt. All branches are included, and so are
 * a fork's inherited calls and calls for summaries. A difference is reported as a finding, not as an error.
 *
 * Memory: the effective history, and the fingerprints of the receipts.
 */
export const verifyReceipts = (chat: Source): TaskEither<ReadError, ReceiptVerification> =>
  TE.map(
    ({ withoutReceipt: _without, ...verification }: ReceiptsAudited): ReceiptVerification => verification,
  )(auditReceipts(chat))

/** Like `verifyReceipts`, but also counts the model replies without a receipt. */
export const auditReceipts = (chat: Source): TaskEither<ReadError, ReceiptsAudited> =>
  task(() => catchTyped(() => audited(chat)))

interface ReceiptsAudited extends ReceiptVerification {
  readonly withoutReceipt: number
}

const audited = async (chat: Source): Promise<ReceiptsAudited> => {
  const check = receiptsChecked((at) => orThrow(chat.context({ at })))
  const findings: ReceiptFinding[] = []
  let count = 0
  let withoutReceipt = 0
  let erased = 0
  for await (const event of chat.events()) {
    for (const { call, found } of await check(event)) {
      if (found?.kind === 'erased') erased++
      else if (found) findings.push({ call: call.number, position: call.position, ...found })
      count = call.number
    }
    if (isUnproven(event) && !event.metadata.erased) {
      withoutReceipt++
      if (count > 0 && needsReceipt(event)) findings.push({ position: event.position, ...missing })
    }
  }
  const wrong = findings.filter(({ call }) => call !== undefined).length
  return {
    conversation: chat.id,
    receipts: count - wrong - erased,
    findings,
    ...(erased > 0 && { erased }),
    withoutReceipt,
  }
}

/** Model call, with the finding if its request cannot be shown to match its receipt. */
interface CheckedCall {
  readonly call: ModelCall
  readonly found: FindingDetails | undefined
}

/**
 * Returns a function that checks the receipts in an event. Call it with each event of the log, from the first on.
 *
 * @param contextAt loads the effective history at a position
 */
export const receiptsChecked = (
  contextAt: (position: number) => Promise<Effective>,
): ((event: ConversationEvent) => Promise<readonly CheckedCall[]>) => {
  const history = historyOf(contextAt)
  const prints = new Map<number, string>()
  const callsOf = createCallCounter()
  return async (event) => {
    const checked: CheckedCall[] = []
    for (const call of callsOf(event)) {
      const { position, receipt } = call
      const own = fingerprintsIn(receipt, (base) => prints.get(base))
      if (own !== undefined) prints.set(position, own)
      const usable = checkCall(call)
      const found = E.isRight(usable)
        ? diagnoseReceipt(call, await history.at(receipt.position), own)
        : problemIn(usable.left)
      checked.push({ call, found })
    }
    history.pass(event)
    return checked
  }
}

const missing = {
  kind: 'missing',
  message: 'this reply has no receipt, although earlier replies have one',
} as const
