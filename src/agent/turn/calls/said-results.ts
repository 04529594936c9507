import { blocksOf } from '../../../commands/append.ts'
import type { NewMessage } from '../../../commands/command.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { type Block, isBlock } from '../../../events/blocks.ts'
import { type Effective, isReply, type Item } from '../../../projections/effective.ts'
import type { DeferredMessages } from './deferred-messages.ts'
import { type OpenCall, openCalls } from './open-calls.ts'

// User messages may contain tool results together with other content, or after it. These results count like any others.

/** Returns the open calls before the user's messages, except those whose results are in these messages. */
export const openCallsIn = ({
  before,
  said,
}: Pick<DeferredMessages, 'before' | 'said'>): readonly OpenCall[] => {
  const results = said.flatMap((message) => shownIn(message).flatMap(callOf))
  return openCalls(before).filter(({ call }) => {
    const at = results.indexOf(call.id)
    if (at >= 0) results.splice(at, 1)
    return at < 0
  })
}

export const isPaused = (item: Item | undefined): boolean =>
  isReply(item) && item.origin?.stopReason === 'pause_turn'

/** Reports whether user messages may be appended: they contain all results that are missing, and no reply is paused. */
export const isPlaceToSpeak = (now: Effective, mail: readonly QueuedMessage[]): boolean =>
  openCallsIn({ before: now, said: mail.flatMap(({ data }) => data.messages) }).length === 0 &&
  !isPaused(now.items.at(-1))

/** Reports whether calls are open and all their results are in the inbox. */
export const areAnswered = (now: Effective, mail: readonly QueuedMessage[]): boolean =>
  openCalls(now).length > 0 && isPlaceToSpeak(now, mail)

/** Separates results that follow other content, or that have to be alone, so that they reach the calls; undefined if there are none. */
export const splitMessages = ({ before, said }: DeferredMessages, isAlone: boolean) => {
  const [first, ...others] = said
  if (!first) return undefined
  const waiting = new Set(openCallsIn({ before, said: isAlone ? [] : [first] }).map(({ call }) => call.id))
  const late = isAlone ? said : others
  const isTaken = (block: Block): boolean => callOf(block).some((call) => waiting.has(call))
  if (!late.some((message) => shownIn(message).some(isTaken))) return undefined
  return {
    // A `system` message with results alone would still end the wait for results, and be separated again.
    results: late.flatMap((message) => part({ ...message, role: 'user' }, isTaken)),
    said: [
      ...(isAlone ? [] : [first]),
      ...late.flatMap((message) => part(message, (block) => !isTaken(block))),
    ],
  }
}

const callOf = (block: Block): readonly string[] => (isBlock(block, 'tool_result') ? [block.tool_use_id] : [])

const shownIn = ({ content, shown }: NewMessage): readonly Block[] => blocksOf(shown?.content ?? content)

/** Returns the message with only the blocks that `isIn` selects; an empty array if no such block is shown to the model. */
const part = (message: NewMessage, isIn: (block: Block) => boolean): readonly NewMessage[] => {
  const whole = blocksOf(message.content)
  const all = shownIn(message)
  const [content, shown] = [whole.filter(isIn), all.filter(isIn)]
  if (all.length > 0 && shown.length === 0) return []
  if (!message.shown || content.length === 0) return [{ ...message, content: shown }]
  return [{ ...message, content, shown: { ...message.shown, content: shown } }]
}
