import { text as textFrom } from 'node:stream/consumers'
import { isError, type PalimpsestError } from '../api/errors.ts'
import type { Store } from '../api/promises.ts'
import { isFields } from '../events/json.ts'
import { sessionConversation, type SessionKey } from './session-keys.ts'
import { linesIn, type SessionEntry } from './session-lines.ts'

/** Imports transcripts that the store keeps, so that their conversations show what was added to them. */
export interface SessionProjections {
  /** Imports a transcript in the background. What is added during an import is imported by one more. */
  readonly add: (key: SessionKey) => void
  /** Waits until everything added so far is imported, or has failed. */
  readonly settled: () => Promise<void>
}

export const createSessionProjections = (
  store: Store,
  onProblem: (error: PalimpsestError, conversation: string) => void,
): SessionProjections => {
  const running = new Map<string, Promise<void>>()
  const waiting = new Set<string>()
  /** Transcripts whose last reply is not imported yet, because more of it may come. */
  const open = new Map<string, SessionKey>()
  const importAll = async (id: string, key: SessionKey, isWhole: boolean): Promise<void> => {
    while (waiting.delete(id))
      try {
        const isOpen = await importTranscript(store, id, key, isWhole)
        if (isOpen) open.set(id, key)
        else open.delete(id)
      } catch (error) {
        if (!isError(error)) throw error
        if (!isWithoutMessages(error)) onProblem(error, id)
      }
  }
  const add = (key: SessionKey, isWhole = false): void => {
    const id = sessionConversation(key)
    waiting.add(id)
    if (running.has(id)) return
    const imported = importAll(id, key, isWhole).finally(() => running.delete(id))
    running.set(id, imported)
  }
  const drain = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running.values())
  }
  return {
    add,
    settled: async () => {
      await drain()
      for (const key of open.values()) add(key, true)
      open.clear()
      await drain()
    },
  }
}

/** Imports the entries under the names that their conversations have in this store. Returns true if the last reply was left out. */
const importTranscript = async (
  store: Store,
  id: string,
  key: SessionKey,
  isWhole: boolean,
): Promise<boolean> => {
  const { projectKey, sessionId, subpath } = key
  const main = sessionConversation({ projectKey, sessionId })
  const { pieces } = await store.conversation(id).original()
  const entries = linesIn(await textFrom(pieces)).flatMap(({ entry }) =>
    // Early versions wrote subagents into the file of their session, where nobody could erase them without erasing the session.
    subpath === undefined && entry['isSidechain'] === true ? [] : [{ ...entry, sessionId: main }],
  )
  const closed = isWhole ? entries : withoutOpenReply(entries)
  const text = closed.map((entry) => JSON.stringify(entry)).join('\n')
  // The store has the file already.
  const options = { archive: false }
  await store.importSession({ file: id, id, format: 'claude-code', text, skipBadLines: true }, options)
  return closed.length < entries.length
}

/** Leaves out the last reply if nothing says that it is complete: an imported message is not changed any more. */
const withoutOpenReply = (entries: readonly SessionEntry[]): readonly SessionEntry[] => {
  const last = entries.findLastIndex(({ type }) => type === 'user' || type === 'assistant')
  const message = messageIn(entries[last])
  if (entries[last]?.type !== 'assistant' || typeof message?.['stop_reason'] === 'string') return entries
  const first = entries.findIndex((entry) => messageIn(entry)?.['id'] === message?.['id'])
  return entries.filter(({ type }, index) => index < first || type !== 'assistant')
}

const messageIn = (entry: SessionEntry | undefined) =>
  entry && isFields(entry['message']) ? entry['message'] : undefined

const isWithoutMessages = (error: PalimpsestError): boolean =>
  error._tag === 'OriginalNotKept' || (error._tag === 'UnknownFormat' && error.isWithoutMessages === true)
