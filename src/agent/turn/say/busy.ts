import { isTurn } from '../../../commands/state.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type Effective, isReply } from '../../../projections/effective.ts'
import type { Entry } from '../../../projections/full.ts'
import { render } from '../../../projections/render/renderer.ts'
import { unwrap, type Fallible } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'
import { createApprovalMethods } from '../calls/decisions.ts'
import { isCall, openCalls } from '../calls/open-calls.ts'
import { isPaused } from '../calls/said-results.ts'

/** The conversation awaits the model, or results of its calls. Nothing was written. */
export interface Busy {
  readonly _tag: 'Busy'
  readonly message: string
  readonly conversation: string
}

export const busy = (conversation: string): Busy => ({
  _tag: 'Busy',
  message: `${conversation} is waiting for the model or for tool results: try again later, or set whileBusy to 'enqueue', 'interrupt' or 'rollback'`,
  conversation,
})

/** Reports whether the conversation awaits the model or has open calls that do not all wait for approval, by the log alone. */
export async function* isBusy(chat: ConversationHandle, now: Effective): Fallible<ReadError, boolean> {
  const open = openCalls(now)
  if (open.length === 0) return render(now).awaits === 'model'
  const waiting = yield* unwrap(createApprovalMethods(chat).waiting())
  const forApproval = waiting.filter(({ why }) => why === 'approval')
  return !open.every(({ use, call: { id } }) =>
    forApproval.some(({ reply, call }) => reply === use && call === id),
  )
}

/** Number of newest entries searched first. Each further search covers four times as many. */
const firstPage = 100

/** Returns the position of the user message that began the turn at the conversation's end; undefined if no message did. */
export async function* turnStart(
  chat: ConversationHandle,
  at: number,
): Fallible<ReadError, number | undefined> {
  for (let last = firstPage; ; last *= 4) {
    const entries = yield* unwrap(chat.full({ at, last }))
    const end = entries.findLastIndex(isEnd)
    if (end >= 0 || entries.length < last)
      return entries.slice(end + 1).find((entry) => entry.kind === 'message' && isTurn(entry))?.position
  }
}

/** Reports whether an entry is a final reply: one that contains no tool call and was not paused. */
const isEnd = (entry: Entry): boolean => isReply(entry) && !isPaused(entry) && !entry.content.some(isCall)
