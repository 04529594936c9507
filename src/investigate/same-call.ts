import { hash, randomUUID } from 'node:crypto'
import { beginsTurn } from '../commands/state.ts'
import { isImported } from '../agent/context/tokens/paid-call.ts'
import { isSameReply } from '../agent/context/tokens/usage.ts'
import { contentOf, type ConversationEvent, type Message } from '../events/events.ts'

// The same call may be in several conversations: programs begin a new file with the content of another, and an import may store a reply
// again.

/**
 * Returns a function that names the replies of a log. It must be called for each event in order. All records of the same reply share at
 * least one name. An id may not be unique, so it is combined with the time or with all earlier content. A reply without an id is
 * identified by its time and all content up to it together. A reply that this store recorded itself without an id gets no name, because
 * no other conversation contains it.
 */
export const createReplyNaming = (): ((event: ConversationEvent) => readonly string[]) => {
  const log = randomUUID()
  const paths: string[] = []
  return (event) => {
    const { type, data, metadata, position } = event
    const before = type === 'Rewound' ? paths[data.to] : paths[position - 1]
    const isImport = isImported(event)
    const path = type === 'MessageAppended' && isImport ? pathAfter(before, contentOf(event)) : before
    paths[position] = path ?? ''
    if (type !== 'MessageAppended') return []
    const { time, commandId } = metadata
    const { messageId, origin = {} } = data
    const ids = [messageId, origin.requestId]
    if (ids.some((id) => id !== undefined))
      return [JSON.stringify([ids, time]), ...(isImport ? [JSON.stringify([ids, path])] : [])]
    if (!isImport) return []
    const entry = commandId.replace(/(:again)?~.*$/s, '')
    // Replies without usage may be alike in different conversations, so their names apply to this log only.
    const said = [time, origin.model, origin.usage ?? log]
    return [
      JSON.stringify([path, ...said]),
      JSON.stringify([entry, pathAfter('', contentOf(event)), ...said]),
    ]
  }
}

type Reply = ConversationEvent<'MessageAppended'>

/**
 * Returns a predicate that reports whether a reply continues the previous one. It must be called for each event of a log in order. An
 * import may have stored a reply in several messages.
 */
export const createContinuationTest = (isReply: (event: ConversationEvent) => event is Reply) => {
  let before: Reply | undefined
  return (event: ConversationEvent): boolean => {
    if (event.type === 'Rewound' || beginsTurn(event)) before = undefined
    if (!isReply(event)) return false
    const isPart = before !== undefined && isSameReply(before.data, event.data)
    before = event
    return isPart
  }
}

const pathAfter = (path = '', said: readonly Message[]): string =>
  hash('sha256', JSON.stringify([path, said.map(({ role, content }) => [role, content])]), 'base64url').slice(
    0,
    16,
  )
