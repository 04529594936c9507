import type { Command } from 'commander'
import { writeProblemOf } from '../api/schemes.ts'
import { withoutSecrets } from '../api/secrets.ts'
import type { Actor } from '../events/events.ts'
import { meantId } from '../events/nearest.ts'
import { isError, openStore, type Store } from '../index.ts'
import { toError } from '../result/typed-error.ts'
import { ambiguousId, failureOf, shortId, similarId, usage } from './errors.ts'
import { type Host, indexFolder, patiently } from './host.ts'
import { type Output, outputOn } from './output.ts'
import { shortest } from './short-ids.ts'

/** Options that every command accepts. */
export interface GlobalOptions {
  readonly store: string
  readonly json?: boolean
  /** Modules to load before the command runs. */
  readonly import?: readonly string[]
}

/** Context of a command that works on an open store. */
export interface CommandSession extends CommandContext {
  readonly store: Store
}

/** Context of a command without an open store, for commands that open stores themselves or need none. */
export interface CommandContext {
  readonly out: Output
  readonly isJson: boolean
  readonly host: Host
  /** Sets the exit code to 1, to 2 if nothing could be determined, or to a program's exit code. An exit code of 1 is never changed. */
  readonly fail: (code?: number) => void
}

/** Access to a store: the store must exist, or is created on the first write, or at once. */
export type StoreAccess = 'existing' | 'created' | 'created at once'

/**
 * Makes the actions of commands. Each action opens the store, does the work, and closes the store. If `access` is a function, it throws
 * on invalid arguments, so that a refused command creates no store.
 */
export interface Shell {
  /** Returns the context of a command. Call it only when the command runs, as it reads the parsed options. */
  readonly surroundings: () => CommandContext
  readonly action: <A extends readonly unknown[]>(
    access: StoreAccess | ((...args: A) => StoreAccess),
    work: (session: CommandSession, ...args: A) => Promise<void>,
  ) => (...args: A) => Promise<void>
  /**
   * Makes an action that only reads a conversation. The action ends once the reader closes the output, so work that sets the exit code
   * must do so before it writes.
   */
  readonly look: MakeAction
  /** Makes an action that changes a conversation. A beginning of its id must have `shortest` characters, as a guard against slips. */
  readonly edit: MakeAction
}

/** Maker of actions on an existing conversation, which may be given by an unambiguous beginning of its id. */
type MakeAction = <A extends readonly unknown[]>(
  work: (session: CommandSession, id: string, ...rest: A) => Promise<void>,
) => (id: string, ...rest: A) => Promise<void>

const actor: Actor = { kind: 'user' }

export const shellOf = (program: Command, host: Host, fail: CommandContext['fail']): Shell => {
  const surroundings = (isAll = false): CommandContext => {
    const { json: isJson = false } = program.opts<GlobalOptions>()
    return { out: outputOn(host.stdout, isAll, host.env), isJson, host, fail }
  }
  const acting =
    (isAll: boolean): Shell['action'] =>
    (access, work) =>
    async (...args) => {
      const { store: url } = program.opts<GlobalOptions>()
      const store = await openNamedStore(host, url, typeof access === 'string' ? access : access(...args))
      const session = { ...surroundings(isAll), store }
      try {
        await work(session, ...args)
      } catch (error) {
        if (error === session.out.unread.reason) return
        throw error
      } finally {
        await store.close()
      }
    }
  const onConversation =
    (isAll: boolean, least: number): MakeAction =>
    (work) =>
    (given, ...rest) =>
      acting(isAll)('existing', async (session) =>
        work(session, await conversationNamed(session.store, given, least), ...rest),
      )()
  return {
    action: acting(false),
    look: onConversation(true, 0),
    edit: onConversation(false, shortest),
    surroundings,
  }
}

/** Opens a store. Throws a usage error if its URL is invalid. */
export const openNamedStore = async (host: Host, url: string, access: StoreAccess): Promise<Store> => {
  const create = access === 'created' ? 'late' : access === 'created at once'
  const options = { actor, create, index: indexFolder(host, url) } as const
  try {
    return await patiently(host, url, openStore(url, options))
  } catch (error) {
    throw asUsage(error)
  }
}

/**
 * Returns a warning that a file does not exist yet, for programs that create it and run on: otherwise a mistyped path would look like a
 * healthy store. Returns undefined for an existing file, and for other stores. Throws if the file cannot be created there.
 */
export const missingFile = async (host: Host, url: string): Promise<string | undefined> => {
  if (!url.startsWith('sqlite:')) return undefined
  try {
    await (await openNamedStore(host, url, 'existing')).close()
    return undefined
  } catch (error) {
    // Any other problem is reported when the store is used.
    if (!isError(error, 'StoreNotFound')) return undefined
    const problem = await writeProblemOf(url)
    if (problem) throw toError(problem)
    return `there is no store at ${withoutSecrets(url)} yet, so a new one is created there: if there should be one, check the path (--store, PALIMPSEST_STORE)`
  }
}

/**
 * Returns `missingFile` for a command that requests an answer: the workers of another store would never see the request. Call it before
 * the command writes.
 */
export const missingIfAsked = async (
  { store, isJson, host }: CommandSession,
  options: { readonly answer?: unknown },
): Promise<string | undefined> =>
  options.answer === undefined || isJson ? undefined : missingFile(host, store.url)

/** Converts an error about a store's URL into a usage error. */
export const asUsage = (error: unknown): unknown => {
  const { _tag, message } = failureOf(error)
  return _tag === 'InvalidInput' || _tag === 'UnknownScheme'
    ? toError(usage(message.replace(/^url: /, '')))
    : error
}

/**
 * Returns the id of the conversation that a text names: its id, or the beginning of its id and of no other. In the id of a subagent
 * (`id:agent`), both parts may be shortened. Returns a text that names none unchanged, because the command's error for an unknown id
 * suggests the nearest one. If no id begins with the text, case is ignored. Throws `AmbiguousId`, and `ShortId` if the text has fewer
 * characters than `least` and is not the whole id.
 */
export const conversationNamed = async (store: Store, text: string, least = 0): Promise<string> => {
  const isThere = store.conversation(text).exists()
  // If it cannot be read, the command says why.
  if (await isThere.catch(() => true)) return text
  const ids = await idsNamed(store, text)
  const whole = mainOf(ids)
  if (whole === undefined && ids.length > 0) throw toError(ambiguousId(text, ids))
  if (whole !== undefined && text.length < Math.min(least, whole.length))
    throw toError(shortId(text, whole, least))
  return whole ?? text
}

/** First 8 to 35 characters of a UUID, the short form of a session's id, perhaps followed by a subagent. */
const shortUuid = /^[0-9a-f]{8}(?:-[0-9a-f-]{0,26})?(?::.*)?$/i

/**
 * Like `conversationNamed`, but for commands that begin a conversation under an id that does not exist: only the short form of a UUID
 * names an existing conversation, because nobody begins a new one under it. Throws `SimilarId` if the id is probably a slip for an
 * existing one, unless `isNew`.
 */
export const conversationToWrite = async (store: Store, text: string, isNew = false): Promise<string> => {
  const id = shortUuid.test(text) ? await conversationNamed(store, text) : text
  const isThere = store.conversation(id).exists()
  if (isNew || (await isThere.catch(() => true))) return id
  const meant = meantId(id, await newestIds(store))
  if (meant !== undefined) throw toError(similarId(id, meant))
  return id
}

/** Maximum number of ids among which a similar one is looked for. */
const mostLooked = 500

/** Returns the ids of the newest conversations. */
export const newestIds = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) if (ids.push(id) >= mostLooked) break
  return ids
}

/**
 * Returns the ids that begin with a text, sorted. If there are none, case is ignored: an id in lower case, such as a UUID, is always found,
 * another one among the newest.
 */
const idsNamed = async (store: Store, text: string): Promise<readonly string[]> => {
  const lower = text.toLowerCase()
  for (const beginning of new Set([text, lower])) {
    const ids = await beginningWith(store, beginning)
    if (ids.length > 0) return ids.includes(beginning) ? [beginning] : ids
  }
  const ids = (await newestIds(store)).filter((id) => beginsWith(id.toLowerCase(), lower))
  const same = ids.filter((id) => id.length === text.length)
  return same.length > 0 ? same : ids
}

const beginningWith = async (store: Store, text: string): Promise<readonly string[]> => {
  const [beginning = ''] = text.split(':')
  const ids: string[] = []
  for await (const { id } of store.conversations({ beginning })) if (beginsWith(id, text)) ids.push(id)
  return ids.toSorted()
}

/** Reports whether an id begins with a text. If the text has a colon, the main id and the agent may both be shortened. */
const beginsWith = (id: string, text: string): boolean => {
  const [main = '', agent] = text.split(/:(.*)/s)
  const at = id.indexOf(':')
  return id.startsWith(main) && (agent === undefined || (at >= main.length && id.startsWith(agent, at + 1)))
}

/** Returns the only id that begins with this text. Returns the text itself if it is an id, or if no id or several begin with it. */
export const onlyBeginningWith = (ids: readonly string[], text: string): string => {
  const [one = text, ...more] = ids.filter((id) => id.startsWith(text))
  return more.length > 0 || ids.includes(text) ? text : one
}

/** Returns the main conversation if all the other ids are its subagents (`id:agent`), otherwise undefined. */
const mainOf = (ids: readonly string[]): string | undefined =>
  ids.find((id) => ids.every((other) => other === id || other.startsWith(`${id}:`)))

/** Returns the program's name as the user calls it: `npx palimpsest` in a checkout or a project, otherwise `palimpsest`. */
export const commandName = ({ env }: Host): string =>
  env['npm_command'] !== undefined || import.meta.url.endsWith('.ts') ? 'npx palimpsest' : 'palimpsest'
