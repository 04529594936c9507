import { isBlock, textBlock } from '../../../events/blocks.ts'
import type { ViewBlock, ViewMessage } from './session-view.ts'
import type { Lose } from './session-loss.ts'

/** A message of the user or the model. */
export interface TwoRoleMessage extends ViewMessage {
  readonly role: 'user' | 'assistant'
}

/**
 * Returns a message for a client without system messages: a system message becomes a reminder in a message of the user, in the tags
 * that these clients use for what is not typed by a person.
 */
export const asUserMessage = (message: ViewMessage, lose: Lose): TwoRoleMessage => {
  const { role, blocks } = message
  if (role !== 'system') return { ...message, role }
  const [first] = blocks
  if (!first) return { ...message, role: 'user' }
  lose('system-message', first.position, 'a system message becomes a reminder in a message of the user')
  const text = `<system-reminder>\n${textOf(blocks)}\n</system-reminder>`
  return { ...message, role: 'user', blocks: [{ ...first, block: textBlock(text) }] }
}

const textOf = (blocks: readonly ViewBlock[]): string =>
  blocks.map(({ block }) => (isBlock(block, 'text') ? block.text : '')).join('\n')
