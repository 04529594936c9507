import type { ConversationInfo } from '../index.ts'

/** Maximum number of links in what a list says of a conversation. */
export const mostLinks = 100

/** Returns what a list says of a conversation: with its newest links, and the number of all if there are more. */
export const listEntry = <I extends ConversationInfo>(info: I): I & { readonly linkCount?: number } => {
  const { links = [] } = info
  return links.length > mostLinks
    ? { ...info, links: links.slice(-mostLinks), linkCount: links.length }
    : info
}
