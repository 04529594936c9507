import type { Block } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { isThinking } from './clean.ts'
import type { Report } from './repairs.ts'

/** A message of the request while it is written. Content is added to it only while it is the last one; later it is replaced. */
export interface MessageDraft {
  readonly role: Role
  readonly position: number
  content: Block[]
  /** Position of the last event that it shows something of. */
  until: number
  /** Ascends through the messages: finds a message even if it was joined to an earlier one since. */
  readonly nth: number
  /** Whether there may be thinking in it. */
  thinks: boolean
}

/** Adds to the last message and returns it, if it has that role; else adds a message. */
export const addTo = (
  drafts: MessageDraft[],
  role: Role,
  position: number,
  content: readonly Block[],
  nth: number,
): MessageDraft | undefined => {
  const last = drafts.at(-1)
  const thinks = content.some(isThinking)
  if (last?.role !== role) {
    drafts.push({ role, position, content: [...content], until: position, nth, thinks })
    return undefined
  }
  // Without a spread, which would overflow the stack.
  for (const block of content) last.content.push(block)
  last.until = position
  last.thinks ||= thinks
  return last
}

/** Index of the assistant's message that got this number, or of the one that it was joined to; from there on `joined` took its answers, too. */
export const indexOf = (drafts: readonly MessageDraft[], nth: number): number => {
  let [from, to] = [0, drafts.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((drafts[middle]?.nth ?? 0) <= nth) from = middle + 1
    else to = middle
  }
  return drafts[from - 1]?.role === 'assistant' ? from - 1 : from - 2
}

/** A copy that can be changed. */
export const copyOf = (draft: MessageDraft): MessageDraft => ({ ...draft, content: [...draft.content] })

/**
 * Leaves these blocks out of messages, and all of their thinking: a message that is not whole has no thinking.
 *
 * @returns the thinking
 */
export const leaveOut = (drafts: readonly MessageDraft[], blocks: ReadonlySet<Block>): readonly Block[] => {
  const thinking: Block[] = []
  for (const draft of drafts) {
    if (!draft.thinks && blocks.size === 0) continue
    const kept = draft.content.filter((block) => !blocks.has(block) && !isThinking(block))
    if (kept.length === draft.content.length) continue
    for (const block of draft.content) if (isThinking(block)) thinking.push(block)
    draft.content = kept
    draft.thinks = false
  }
  return thinking
}

/**
 * Joins messages about the same calls: all that the assistant said in one message, then all results in another, but for these answers,
 * which come last in their messages. Adds to the first messages, as many rounds may be joined one by one to a long one.
 */
export const joined = (
  drafts: readonly MessageDraft[],
  without: ReadonlySet<Block>,
  report: Report,
): readonly MessageDraft[] =>
  (['assistant', 'user'] as const).flatMap((role) => {
    const all = drafts.filter((draft) => draft.role === role)
    for (const { content } of all)
      for (let last = content.at(-1); last && without.has(last); last = content.at(-1)) content.pop()
    // Where only answers were, nothing is left to join to.
    const [first, ...others] = all.filter(({ content }) => content.length > 0)
    if (!first) return []
    for (const draft of others) {
      report('roles-merged', draft.position, joinedTo(first))
      appendTo(first, draft.content)
      first.until = draft.until
      first.thinks ||= draft.thinks
    }
    return [first]
  })

/** What `roles-merged` says of the message that another one was joined to. */
export const joinedTo = ({ role, position }: MessageDraft): string =>
  `joined to the ${role} message of ${position}`

/** If rounds are answered from the last one on, each joins one that is long already: that is kept, not built again block by block. */
const appendTo = (draft: MessageDraft, blocks: Block[]): void => {
  const { content } = draft
  if (blocks.length <= content.length) for (const block of blocks) content.push(block)
  else if (content.length > few) draft.content = content.concat(blocks)
  else {
    blocks.unshift(...content)
    draft.content = blocks
  }
}
const few = 100
