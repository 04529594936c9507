import { blocksOf } from '../../../commands/append.ts'
import type { NewMessage } from '../../../commands/command.ts'
import { type Block, isBlock } from '../../../events/blocks.ts'
import type { DeferredMessages } from './held.ts'
import { type OpenCall, openCalls } from './open-calls.ts'

// Results of calls may come beside something else, or after it, in messages of the user. They are the results all the same.

/** The open calls before what was said, without those whose results are in it. */
export const unansweredIn = ({
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

/** What was said, with the results in it apart. */
export interface SplitMessages {
  readonly results: readonly NewMessage[]
  readonly said: readonly NewMessage[]
}

/**
 * Takes the results of open calls out of what was said, where the model would be told that there are none: after something else.
 *
 * @param isAlone no result may stand beside something else
 * @returns undefined if there is nothing to take out
 */
export const sorted = ({ before, said }: DeferredMessages, isAlone: boolean): SplitMessages | undefined => {
  const [first, ...others] = said
  if (!first) return undefined
  const waiting = new Set(unansweredIn({ before, said: isAlone ? [] : [first] }).map(({ call }) => call.id))
  const late = isAlone ? said : others
  const isTaken = (block: Block): boolean => callOf(block).some((call) => waiting.has(call))
  if (!late.some((message) => shownIn(message).some(isTaken))) return undefined
  return {
    results: late.flatMap((message) => part(message, isTaken)),
    said: [
      ...(isAlone ? [] : [first]),
      ...late.flatMap((message) => part(message, (block) => !isTaken(block))),
    ],
  }
}

const callOf = (block: Block): readonly string[] => (isBlock(block, 'tool_result') ? [block.tool_use_id] : [])

const shownIn = ({ content, shown }: NewMessage): readonly Block[] => blocksOf(shown?.content ?? content)

/** The message with some of its blocks; none if the model is shown none of them. */
const part = (message: NewMessage, isIn: (block: Block) => boolean): readonly NewMessage[] => {
  const whole = blocksOf(message.content)
  const all = shownIn(message)
  const [content, shown] = [whole.filter(isIn), all.filter(isIn)]
  if (all.length > 0 && shown.length === 0) return []
  if (!message.shown || content.length === 0) return [{ ...message, content: shown }]
  return [{ ...message, content, shown: { ...message.shown, content: shown } }]
}
