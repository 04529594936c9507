import type { Block } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { isThinking } from './clean.ts'

/** A message of the request while it is written. Its content is added to while it is the last one, and else replaced. */
export interface Draft {
  readonly role: Role
  readonly position: number
  content: Block[]
  /** Position of the last event that it shows something of. */
  until: number
}

/** Adds to the last message, if it is of that role, which is returned; else a message. */
export const addTo = (
  drafts: Draft[],
  role: Role,
  position: number,
  content: readonly Block[],
): Draft | undefined => {
  const last = drafts.at(-1)
  if (last?.role !== role) {
    drafts.push({ role, position, content: [...content], until: position })
    return undefined
  }
  last.content.push(...content)
  last.until = position
  return last
}

/** A copy that can be changed. */
export const copyOf = (draft: Draft): Draft => ({ ...draft, content: [...draft.content] })

/**
 * Leaves these blocks out of messages, and all of their thinking: a message that is not whole has none.
 *
 * @returns the thinking
 */
export const leaveOut = (drafts: readonly Draft[], blocks: ReadonlySet<Block>): readonly Block[] => {
  const thinking: Block[] = []
  for (const draft of drafts) {
    const kept = draft.content.filter((block) => !blocks.has(block) && !isThinking(block))
    if (kept.length < draft.content.length) {
      thinking.push(...draft.content.filter(isThinking))
      draft.content = kept
    }
  }
  return thinking
}

/** Of messages that speak of the same calls: all that the assistant said in the first one, then all that was given back to it. */
export const joined = (drafts: readonly Draft[], without: ReadonlySet<Block>): readonly Draft[] =>
  (['assistant', 'user'] as const).flatMap((role) => {
    const own = drafts.filter((draft) => draft.role === role)
    const content = own.flatMap((draft) => draft.content.filter((block) => !without.has(block)))
    const [first] = own
    const until = own.at(-1)?.until
    return first && until !== undefined && content.length > 0
      ? [Object.assign(first, { content, until })]
      : []
  })
