import { isTurn } from '../commands/state.ts'
import type { Conversation } from '../conversation/conversation.ts'
import { type Effective, isReply, type Item } from '../projections/effective.ts'
import type { Entry } from '../projections/full.ts'
import { render } from '../projections/render/renderer.ts'
import { caught, ok, type Steps } from '../result/steps.ts'
import type { ReadError, StoreError } from '../store/errors.ts'
import { isCall, type OpenCall, openCalls } from './open-calls.ts'

/**
 * Whether a reply or results are still to come: the conversation awaits the model, or has open calls. Known from the log alone. Not while
 * all open calls wait for somebody's approval.
 */
export async function* isBusy(chat: Conversation, now: Effective): Steps<StoreError, boolean> {
  const open = openCalls(now)
  return open.length > 0 ? !(yield* waitForApproval(chat, open)) : render(now).awaits === 'model'
}

const keyOf = (reply: number, call: string): string => `${reply} ${call}`

async function* waitForApproval(chat: Conversation, open: readonly OpenCall[]): Steps<StoreError, boolean> {
  const left = new Set(open.map(({ use, call }) => keyOf(use, call.id)))
  const oldest = Math.min(...open.map(({ use }) => use))
  return yield* caught<StoreError, boolean>(async () => {
    for await (const { type, data } of chat.turnLog.newest()) {
      if (type === 'TurnsBegun' || data.at < oldest) return false
      if (type === 'CallsWaiting' && data.why === 'approval')
        for (const call of data.calls) left.delete(keyOf(data.reply, call))
      // One that was decided or started waits no more.
      else if ((type === 'CallDecided' || type === 'ToolStarted') && left.has(keyOf(data.reply, data.call)))
        return false
      if (left.size === 0) return true
    }
    return false
  })
}

const isPaused = (item: Item | undefined): boolean =>
  isReply(item) && item.origin?.stopReason === 'pause_turn'

/** Whether what the user says may come at the end of the history: no call waits for its result, and no paused reply for its rest. */
export const isPlaceToSpeak = (now: Effective): boolean =>
  openCalls(now).length === 0 && !isPaused(now.items.at(-1))

/** How many of the newest entries are searched first. */
const firstPage = 100

/** The position of the user message that began the turn at the conversation's end; undefined if there is none. */
export async function* turnStart(chat: Conversation, at: number): Steps<ReadError, number | undefined> {
  for (let last = firstPage; ; last *= 4) {
    const entries = yield* ok(chat.full({ at, last }))
    const end = entries.findLastIndex(isEnd)
    if (end >= 0 || entries.length < last)
      return entries.slice(end + 1).find((entry) => entry.kind === 'message' && isTurn(entry))?.position
  }
}

/** Whether the model had nothing more to say after this. */
const isEnd = (entry: Entry): boolean => isReply(entry) && !isPaused(entry) && !entry.content.some(isCall)
