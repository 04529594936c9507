import { hash } from 'node:crypto'
import type { WholeMessage } from '../agent/receipts/recorded.ts'
import { type Fields, isFields } from '../events/json.ts'

/** Keys by which messages are compared. */
export interface MessageKeys {
  /** Digest of the message without cache breakpoints: messages with equal bytes have equal keys. */
  readonly key: string
  /**
   * Digest of what stays the same if a program edits the message: the ids of its tool calls and results, or else its text without
   * reminders.
   */
  readonly anchor: string
  /** True if no other message is likely to have this anchor, so that it shows that the message was kept. */
  readonly isDistinct: boolean
  /** True if the message occurs in one conversation only: it is a reply, or has tool calls or results. */
  readonly isOwn: boolean
}

const reminders = /<system-reminder>[\s\S]*?<\/system-reminder>/g
/** Length above which a text is likely to be the only one of its kind. */
const shortest = 8
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22)

/** Returns the keys of a message. */
export const keysOf = ({ role, content, fields = {} }: WholeMessage): MessageKeys => {
  // With the order of the fields, because the bytes are made again.
  const key = digest(JSON.stringify([role, content, fields]))
  const ids = content.flatMap(callIds)
  const hasCalls = ids.length > 0
  const text = hasCalls ? '' : content.flatMap(textsIn).join('\n').replaceAll(reminders, '').trim()
  const what = hasCalls ? ids.join() : text
  return {
    key,
    anchor: what === '' ? key : digest(`${role} ${what}`),
    isDistinct: hasCalls || (role !== 'system' && text.length > shortest),
    isOwn: hasCalls || (role === 'assistant' && text.length > shortest),
  }
}

/** Returns the ids of the tool calls and results in a block. */
const callIds = (block: Fields): readonly string[] => {
  const { type, id, tool_use_id: result, item } = block
  if (isFields(item)) {
    const { call_id: call, tool_call_id: answered, tool_calls: calls, type: kind } = item
    if (typeof call === 'string') return [`${String(kind)} ${call}`]
    if (typeof answered === 'string') return [`result ${answered}`]
    return Array.isArray(calls) ? calls.filter(isFields).map((each) => `call ${String(each['id'])}`) : []
  }
  if (typeof result === 'string') return [`result ${result}`]
  return type === 'tool_use' || type === 'server_tool_use' ? [`call ${String(id)}`] : []
}

/** Returns the texts in a block, without thinking. A block of another kind counts as its JSON. */
export const textsIn = (block: Fields): readonly string[] => {
  const { type, text, item } = block
  if (isFields(item)) {
    const { content } = item
    if (typeof content === 'string') return [content]
    return Array.isArray(content) ? content.filter(isFields).flatMap(textsIn) : []
  }
  if (typeof text === 'string') return [text]
  return type === 'tool_result' || type === 'thinking' ? [] : [JSON.stringify(block)]
}
