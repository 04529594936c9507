import { hash, randomUUID } from 'node:crypto'
import { beginsTurn } from '../commands/state.ts'
import { isSameReply } from '../agent/context/tokens/usage.ts'
import { contentOf, type ConversationEvent, type Message } from '../events/events.ts'

// The same call may be in several conversations: programs begin a file with what another one has, and an import may store a reply again.

/**
 * Names the replies of a log, event by event: whatever else holds a reply gives it one of the same names. An id may not be unique, so it
 * comes with the time, or with all that was said before; without ids, all of these tell a reply from others. A reply that this store
 * recorded itself and that has no id has no name, as nothing else holds it.
 */
export const namedReplies = (): ((event: ConversationEvent) => readonly string[]) => {
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
    // Without usage, replies of different conversations may be all alike.
    const said = [time, origin.model, origin.usage ?? log]
    return [
      JSON.stringify([path, ...said]),
      JSON.stringify([entry, pathAfter('', contentOf(event)), ...said]),
    ]
  }
}

/** Tells an event that an import of another program's file wrote. */
export const isImported = ({ metadata }: ConversationEvent): boolean =>
  metadata.commandId.startsWith('import:')

type Reply = ConversationEvent<'MessageAppended'>

/** Tells, event by event of a log, if a reply continues the one before it: an import may have stored a reply in parts. */
export const continuedReplies = (isReply: (event: ConversationEvent) => event is Reply) => {
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
