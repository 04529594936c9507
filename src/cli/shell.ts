import type { Command } from 'commander'
import type { Actor } from '../events/events.ts'
import { openStore, type Store } from '../index.ts'
import { toError } from '../result/typed.ts'
import { ambiguousId, failureOf, usage } from './errors.ts'
import { type Host, indexFolder, patiently } from './host.ts'
import { type Output, outputOn } from './output.ts'

/** The options that every command has. */
export interface GlobalOptions {
  readonly store: string
  readonly json?: boolean
  /** Modules to load first. */
  readonly import?: readonly string[]
}

/** What a command's work is given. */
export interface CommandSession extends CommandContext {
  readonly store: Store
}

/** As a session, of a command that opens stores itself. */
export interface CommandContext {
  readonly out: Output
  readonly isJson: boolean
  readonly host: Host
  /** Makes the exit code 1, or 2 unless it is 1: then nothing was found out. */
  readonly fail: (code?: 1 | 2) => void
}

/** Whether the store must exist, or is created when something is written. */
export type StoreAccess = 'existing' | 'created'

/**
 * Makes commands' actions: each opens the store, does the work, closes the store. An access that is computed throws what is wrong with
 * the arguments, so that what is refused creates no store.
 */
export interface Shell {
  /** What an action runs in, when it runs. */
  readonly surroundings: () => CommandContext
  readonly action: <A extends readonly unknown[]>(
    access: StoreAccess | ((...args: A) => StoreAccess),
    work: (session: CommandSession, ...args: A) => Promise<void>,
  ) => (...args: A) => Promise<void>
  /**
   * An action that only reads a conversation, which may be given by an unambiguous prefix of its id. It ends once nobody reads what it
   * writes: what makes the exit code 1 comes before.
   */
  readonly look: <O>(
    work: (session: CommandSession, id: string, options: O) => Promise<void>,
  ) => (id: string, options: O) => Promise<void>
}

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
      const store = await opened(host, url, typeof access === 'string' ? access : access(...args))
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
  const look: Shell['look'] = (work) =>
    acting(true)('existing', async (session, id, options) => {
      try {
        await work(session, id, options)
      } catch (error) {
        const ids = notFoundId(error) === id ? await beginningWith(session.store, id) : []
        const whole = mainOf(ids)
        if (ids.length > 0 && whole === undefined) throw toError(ambiguousId(id, ids))
        if (whole === undefined) throw error
        await work(session, whole, options)
      }
    })
  return { action: acting(false), look, surroundings }
}

const opened = async (host: Host, url: string, access: StoreAccess): Promise<Store> => {
  const options = { actor, create: access === 'created' && 'late', index: indexFolder(host, url) } as const
  try {
    return await patiently(host, url, openStore(url, options))
  } catch (error) {
    throw asUsage(error)
  }
}

/** An error as wrong usage if it is about a store's URL. */
export const asUsage = (error: unknown): unknown => {
  const { _tag, message } = failureOf(error)
  return _tag === 'InvalidInput' || _tag === 'UnknownScheme'
    ? toError(usage(message.replace(/^url: /, '')))
    : error
}

const notFoundId = (error: unknown): string | undefined => {
  const { _tag, conversation } = failureOf(error)
  return _tag === 'ConversationNotFound' && typeof conversation === 'string' ? conversation : undefined
}

const beginningWith = async (store: Store, beginning: string): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations({ beginning })) ids.push(id)
  return ids.toSorted()
}

/** The one conversation among these, apart from its subagents (`id:agent`); undefined if there are several. */
const mainOf = (ids: readonly string[]): string | undefined =>
  ids.find((id) => ids.every((other) => other === id || other.startsWith(`${id}:`)))

/** How the program is called: through npx in a checkout or a project, else by its name. */
export const commandName = ({ env }: Host): string =>
  env['npm_command'] !== undefined || import.meta.url.endsWith('.ts') ? 'npx palimpsest' : 'palimpsest'

/** A word for a shell, quoted if necessary. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
