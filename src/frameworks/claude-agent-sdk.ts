// Sessions of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`) as conversations of a store. docs/frameworks.md.

import { homedir } from 'node:os'
import { text as textFrom } from 'node:stream/consumers'
import { isError, type PalimpsestError } from '../api/errors.ts'
import type { Store } from '../api/promises.ts'
import { inOrder } from '../conversation/writing/in-order.ts'
import { checkedOptions, checkMethods, checkStore } from '../store/given.ts'
import { kinds, type OptionKinds } from '../store/options.ts'
import { configFolderOf, localTranscripts } from './local-transcripts.ts'
import { sessionConversation, sessionIn, type SessionKey, sessionPrefix } from './session-keys.ts'
import {
  hasGap,
  linesBefore,
  linesIn,
  mergeLines,
  newLines,
  splitBatch,
  type SessionEntry,
  type SessionLine,
  textOf,
  toLine,
  uuidsOf,
} from './session-lines.ts'
import { createSessionProjections } from './session-projections.ts'
import { checkObjects, untilCurrent } from './shared-chats.ts'

export { sessionConversation, type SessionEntry, type SessionKey }

/** A store of sessions for the Claude Agent SDK. It has no `delete`: nothing is deleted from a conversation. */
export interface AgentSessionStore {
  readonly append: (key: SessionKey, entries: readonly SessionEntry[]) => Promise<void>
  /** Resolves to null if nothing was appended, or if it was erased. */
  readonly load: (key: SessionKey) => Promise<SessionEntry[] | null>
  readonly listSessions: (projectKey: string) => Promise<{ sessionId: string; mtime: number }[]>
  readonly listSubkeys: (key: { projectKey: string; sessionId: string }) => Promise<string[]>
  /** Waits until the conversations show all entries that were appended so far. */
  readonly settled: () => Promise<void>
}

export interface SessionStoreOptions {
  /**
   * Claude Code's configuration folder, whose transcripts fill the gaps of entries that were not mirrored. Default: `CLAUDE_CONFIG_DIR`,
   * or `.claude` in the home folder.
   */
  readonly configFolder?: string | undefined
  /**
   * Called if the entries of a session are stored, but its conversation cannot show them, such as with `ImportDiverged` after somebody
   * changed the conversation. Default: a warning of the process.
   */
  readonly onProblem?: ((error: PalimpsestError, conversation: string) => void) | undefined
}

const optionKinds: OptionKinds<SessionStoreOptions> = { configFolder: kinds.text, onProblem: kinds.call }

/** The remembered state of a transcript. */
interface KnownTranscript {
  readonly revision: number
  readonly uuids: Set<string>
}

const format = 'claude-code'
/** Maximum number of transcripts that are remembered. Another one is read again when something is appended to it. */
const mostRemembered = 100

/**
 * Returns a store of sessions for the Claude Agent SDK (0.3 or later): `query({ prompt, options: { sessionStore: sessionStore(store) } })`.
 * The entries of a session are kept unchanged, and its conversation, `sessionConversation(key)`, shows them: it can be read, searched,
 * rendered and continued like any other. Each uuid is kept once, even if several processes repeat it. Entries that were not mirrored,
 * because the process was killed or a batch was dropped, are taken from Claude Code's own transcript, if it is on this machine.
 * The methods reject with the errors of the store, with `OriginalNotKept` for a session that was erased, and with `InvalidInput` for a
 * key that does not fit.
 *
 * @example
 * import { openStore } from 'palimpsest'
 * import { sessionStore } from 'palimpsest/claude-agent-sdk'
 *
 * const store = await openStore('sqlite:conversations.db')
 * const sessions = sessionStore(store)
 * await sessions.append({ projectKey: 'app', sessionId: 's1' }, [{ type: 'custom-title', customTitle: 'The parser' }])
 * console.log(await sessions.load({ projectKey: 'app', sessionId: 's1' }))
 * await sessions.settled()
 * await store.close()
 */
export const sessionStore = (store: Store, options?: SessionStoreOptions): AgentSessionStore => {
  checkStore(store, ['conversation', 'writeOriginal', 'originals'])
  const { configFolder = configFolderOf(process.env), onProblem = warn } = checkedOptions(
    options,
    optionKinds,
  )
  const known = new Map<string, KnownTranscript>()
  const oneByOne = inOrder()
  const projections = createSessionProjections(store, onProblem)

  const write = async (id: string, now: KnownTranscript, lines: readonly SessionLine[], from?: number) => {
    const change = { format, text: textOf(lines), after: now.revision, from }
    const { revision } = await store.writeOriginal(id, change)
    for (const uuid of uuidsOf(lines)) now.uuids.add(uuid)
    known.delete(id)
    known.set(id, { revision, uuids: now.uuids })
    const [oldest = ''] = known.keys()
    if (known.size > mostRemembered) known.delete(oldest)
  }
  /** Writes the transcript again, from the first line that differs. */
  const rewrite = async (id: string, stored: StoredTranscript, merged: readonly SessionLine[]) => {
    const same = merged.findIndex((line, index) => line !== stored.lines[index])
    if (same >= 0)
      await write(id, stored, merged.slice(same), Buffer.byteLength(textOf(merged.slice(0, same))))
  }
  const add = async (id: string, key: SessionKey, lines: readonly SessionLine[]): Promise<void> => {
    const now = known.get(id) ?? (await readTranscript(store, id))
    const added = newLines(lines, now.uuids)
    if (added.length === 0) return
    const copies = hasGap(added, now.uuids) ? await localTranscripts(key, configFolder) : []
    const { inner, outer } = splitBatch(lines, now.uuids)
    if (copies.length === 0 && inner.length === 0) return write(id, now, added)
    const stored = await readTranscript(store, id)
    const missing = [...copies.map((copy) => linesBefore(copy, lines)), inner]
    const filled = missing.reduce(mergeLines, stored.lines)
    await rewrite(id, stored, [...filled, ...newLines(outer, uuidsOf(filled))])
  }
  /** Adds what the SDK did not mirror before its process ended. */
  const fill = async (id: string, key: SessionKey): Promise<readonly SessionLine[]> => {
    const stored = await readTranscript(store, id)
    if (stored.lines.length === 0) return []
    const copies = await localTranscripts(key, configFolder)
    const isMissing = copies.some((copy) => !uuidsOf(copy).isSubsetOf(stored.uuids))
    const merged = isMissing ? copies.reduce(mergeLines, stored.lines) : stored.lines
    await rewrite(id, stored, merged)
    return merged
  }
  const changing = <A>(key: SessionKey, change: (id: string) => Promise<A>): Promise<A> => {
    const id = sessionConversation(key)
    const forget = (error: unknown): never => {
      known.delete(id)
      throw error
    }
    return oneByOne(id, async (done) => {
      try {
        const changed = await untilCurrent('Conflict', () => change(id).catch(forget))
        projections.add(key)
        return changed
      } finally {
        done()
      }
    })
  }
  return {
    append: async (key, entries) => {
      checkObjects(entries, 'entries')
      const lines = entries.map(toLine)
      if (lines.length > 0) await changing(key, (id) => add(id, key, lines))
    },
    load: async (key) => {
      const lines = await changing(key, (id) => fill(id, key))
      return lines.length > 0 ? lines.map(({ entry }) => entry) : null
    },
    listSessions: async (projectKey) => {
      const sessions: { sessionId: string; mtime: number }[] = []
      const beginning = sessionPrefix(projectKey)
      for await (const { conversation, time } of store.originals({ beginning })) {
        const { sessionId, subpath } = sessionIn(conversation.slice(beginning.length))
        if (subpath === undefined) sessions.push({ sessionId, mtime: Date.parse(time) })
      }
      return sessions
    },
    listSubkeys: async ({ projectKey, sessionId }) => {
      const subpaths: string[] = []
      const beginning = `${sessionConversation({ projectKey, sessionId })}:`
      for await (const { conversation } of store.originals({ beginning })) {
        const { subpath } = sessionIn(conversation.slice(sessionPrefix(projectKey).length))
        if (subpath !== undefined) subpaths.push(subpath)
      }
      return subpaths
    },
    settled: projections.settled,
  }
}

/**
 * Adds a session store to the options of a query. Emits a warning of the process (code `PALIMPSEST_NOT_MIRRORED`) if the SDK would give
 * the store nothing: it looks for the transcripts in the home folder of this process, and says nothing if `env` has another `HOME`.
 *
 * @example
 * import { sessionStore, withSessionStore } from 'palimpsest/claude-agent-sdk'
 *
 * const options = withSessionStore({ env: { ...process.env, CLAUDE_CONFIG_DIR: '/srv/agent/.claude' } }, sessionStore(store))
 */
export const withSessionStore = <O extends object>(
  options: O,
  sessions: AgentSessionStore,
): O & { readonly sessionStore: AgentSessionStore } => {
  checkMethods('sessions', sessions, ['append', 'load'], 'a session store: pass sessionStore(store)')
  const { env } = options as { readonly env?: Readonly<Record<string, string | undefined>> | undefined }
  if (env && env['CLAUDE_CONFIG_DIR'] === undefined && (env['HOME'] ?? homedir()) !== homedir())
    process.emitWarning(
      `the Claude Agent SDK mirrors nothing to the session store: env.HOME is ${env['HOME']}, but this process's is ${homedir()}. Set env.CLAUDE_CONFIG_DIR to the folder .claude in it`,
      { code: 'PALIMPSEST_NOT_MIRRORED' },
    )
  return { ...options, sessionStore: sessions }
}

const warn = (error: PalimpsestError, conversation: string): void =>
  process.emitWarning(`the entries of ${conversation} are stored, but not shown yet: ${error.message}`, {
    code: 'PALIMPSEST_NOT_SHOWN',
  })

interface StoredTranscript extends KnownTranscript {
  readonly lines: readonly SessionLine[]
}

const readTranscript = async (store: Store, id: string): Promise<StoredTranscript> => {
  try {
    const { revision, pieces } = await store.conversation(id).original()
    const lines = linesIn(await textFrom(pieces))
    return { revision, lines, uuids: uuidsOf(lines) }
  } catch (error) {
    if (!isError(error, 'OriginalNotKept')) throw error
    return { revision: -1, lines: [], uuids: new Set() }
  }
}
