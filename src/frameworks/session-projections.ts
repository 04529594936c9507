import { text as textFrom } from 'node:stream/consumers'
import { isError, type PalimpsestError } from '../api/errors.ts'
import type { Store } from '../api/promises.ts'
import { isFields } from '../events/json.ts'
import { pause } from '../result/timers.ts'
import { sessionConversation, type SessionKey } from './session-keys.ts'
import { linesIn, type SessionEntry } from './session-lines.ts'

/** Imports transcripts that the store keeps, so that their conversations show what was added to them. */
export interface SessionProjections {
  /** Imports a transcript in the background, one transcript at a time. What is added during an import is imported by one more. */
  readonly add: (key: SessionKey) => void
  /** Waits until everything added so far is imported, or has failed. */
  readonly settled: () => Promise<void>
}

interface Waiting {
  readonly key: SessionKey
  /** True to import the last reply, too, although more of it may come. */
  readonly isWhole: boolean
}

/**
 * Length of the pause after an import, as a multiple of the import's own time. An import reads the whole transcript, so without pauses
 * the imports of long transcripts would take most of the process's time.
 */
const restFactor = 4

export const createSessionProjections = (
  store: Store,
  onProblem: (error: PalimpsestError, conversation: string) => void,
): SessionProjections => {
  const waiting = new Map<string, Waiting>()
  /** Transcripts whose last reply is not imported yet, because more of it may come. */
  const open = new Map<string, SessionKey>()
  let running: Promise<void> | undefined
  let rest = new AbortController()
  const importNext = async (id: string, { key, isWhole }: Waiting): Promise<void> => {
    try {
      const isOpen = await importTranscript(store, id, key, isWhole)
      if (isOpen) open.set(id, key)
      else open.delete(id)
    } catch (error) {
      if (!isError(error)) throw error
      if (!isWithoutMessages(error)) onProblem(error, id)
    }
  }
  const importAll = async (): Promise<void> => {
    try {
      for (const [id, next] of waiting) {
        waiting.delete(id)
        const begun = performance.now()
        await importNext(id, next)
        await pause(restFactor * (performance.now() - begun), rest.signal)
      }
    } finally {
      running = undefined
    }
  }
  const add = (key: SessionKey, isWhole = false): void => {
    waiting.set(sessionConversation(key), { key, isWhole })
    running ??= importAll()
  }
  return {
    add,
    settled: async () => {
      rest.abort()
      await running
      for (const key of open.values()) add(key, true)
      open.clear()
      await running
      rest = new AbortController()
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
