import type { Block } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import type { Fields } from '../../events/json.ts'
import { isThinking } from './clean.ts'
import type { Report } from './repairs.ts'

/**
 * A message of a request that is being written. Content is added only while the message is the last one; after that, its content is
 * replaced as a whole.
 */
export interface MessageDraft {
  readonly role: Role
  readonly position: number
  content: Block[]
  /** Fields that the message has beside role and content. */
  fields?: Fields
  /** Position of the last event that contributes to the message. */
  until: number
  /** Ascending number of the message. It identifies the message even after it was joined to an earlier one. */
  readonly nth: number
  /** True if the message may contain thinking. */
  thinks: boolean
}

/**
 * Adds content to the last message if it has this role, and returns that message. Otherwise adds a new message and returns undefined.
 */
export const addTo = (
  drafts: MessageDraft[],
  role: Role,
  position: number,
  content: readonly Block[],
  nth: number,
): MessageDraft | undefined => {
  const last = drafts.at(-1)
  const thinks = content.some(isThinking)
  // A system message without content stays a message of its own.
  if (last?.role !== role || last.content.length === 0) {
    drafts.push({ role, position, content: [...content], until: position, nth, thinks })
    return undefined
  }
  // Without a spread, which would overflow the stack.
  for (const block of content) last.content.push(block)
  last.until = position
  last.thinks ||= thinks
  return last
}

/**
 * Returns the index of the assistant message with this number, or of the message to which it was joined. In the second case,
 * `joinDrafts` has also moved the results of the joined message.
 */
export const indexOf = (drafts: readonly MessageDraft[], nth: number): number => {
  let [from, to] = [0, drafts.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((drafts[middle]?.nth ?? 0) <= nth) from = middle + 1
    else to = middle
  }
  return drafts[from - 1]?.role === 'assistant' ? from - 1 : from - 2
}

/** Returns a copy of a message; the copy may be changed. */
export const copyOf = (draft: MessageDraft): MessageDraft => ({ ...draft, content: [...draft.content] })

/**
 * Removes these blocks and all thinking from messages: an incomplete message must not have thinking.
 *
 * @returns the removed thinking
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
 * Joins messages about the same calls: all assistant content into one message, then all results into another. Drops the answers in
 * `without`, which come last in their messages. Appends to the first message of each role, because that message may grow long when many
 * rounds are joined one by one.
 */
export const joinDrafts = (
  drafts: readonly MessageDraft[],
  without: ReadonlySet<Block>,
  report: Report,
): readonly MessageDraft[] =>
  (['assistant', 'user'] as const).flatMap((role) => {
    const all = drafts.filter((draft) => draft.role === role)
    for (const { content } of all)
      for (let last = content.at(-1); last && without.has(last); last = content.at(-1)) content.pop()
    // A message that contained only dropped answers is empty now, so nothing can be joined to it.
    const [first, ...others] = all.filter(({ content }) => content.length > 0)
    if (!first) return []
    for (const draft of others) {
      report('roles-merged', draft.position, joinDetail(first))
      appendTo(first, draft.content)
      first.until = draft.until
      first.thinks ||= draft.thinks
    }
    return [first]
  })

/** Returns the detail of a `roles-merged` repair, which names the message that another one was joined to. */
export const joinDetail = ({ role, position }: MessageDraft): string =>
  `joined to the ${role} message of ${position}`

/**
 * Appends blocks to a message. When rounds are answered from the last one to the first, each step appends an already long array; that
 * array is kept instead of being copied block by block.
 */
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
