import type { Command } from 'commander'
import type { Actor } from '../events/events.ts'
import { openStore, type Store } from '../index.ts'
import { toError } from '../store/errors.ts'
import { ambiguousId } from './errors.ts'
import { type Output, outputOn } from './output.ts'

/** The store that commands work on where none is named. */
export const configuredStore = (): string => process.env['PALIMPSEST_STORE'] || 'sqlite:palimpsest.db'

/** The options that every command has. */
export interface GlobalOptions {
  readonly store: string
  readonly json?: boolean
}

/** What a command works with. */
export interface Session {
  readonly store: Store
  readonly out: Output
  readonly isJson: boolean
}

/** Whether the store must be there already, or is created if it is not. */
type Access = 'existing' | 'created'

/** Makes commands' actions: each opens the store, does the work, closes the store. */
export interface Shell {
  readonly action: <A extends readonly unknown[]>(
    access: Access,
    work: (session: Session, ...args: A) => Promise<void>,
  ) => (...args: A) => Promise<void>
  /** An action that only looks at a conversation, which may be named by the beginning of its id; writers want it whole. */
  readonly look: <O>(
    work: (session: Session, id: string, options: O) => Promise<void>,
  ) => (id: string, options: O) => Promise<void>
}

const actor: Actor = { kind: 'user' }

export const shellOf = (program: Command): Shell => {
  const action: Shell['action'] =
    (access, work) =>
    async (...args) => {
      const { store: url, json = false } = program.opts<GlobalOptions>()
      const store = await openStore(url, { actor, create: access === 'created' })
      try {
        await work({ store, out: outputOn(process.stdout), isJson: json }, ...args)
      } finally {
        await store.close()
      }
    }
  const look: Shell['look'] = (work) =>
    action('existing', async (session, id, options) => {
      try {
        await work(session, id, options)
      } catch (error) {
        const whole = isNotFound(error, id) ? await completed(session.store, id) : undefined
        if (whole === undefined) throw error
        await work(session, whole, options)
      }
    })
  return { action, look }
}

const isNotFound = (error: unknown, id: string): boolean =>
  error instanceof Error &&
  '_tag' in error &&
  error._tag === 'ConversationNotFound' &&
  'conversation' in error &&
  error.conversation === id

/** The one conversation whose id begins so, with or without those of its subagents (`id:agent`); undefined if there is none. */
const completed = async (store: Store, beginning: string): Promise<string | undefined> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) if (id.startsWith(beginning)) ids.push(id)
  const main = ids.find((id) => ids.every((other) => other === id || other.startsWith(`${id}:`)))
  if (ids.length > 0 && main === undefined) throw toError(ambiguousId(beginning, ids))
  return main
}

/** How a command is typed here: through npx in a checkout or a project, by its name where it is installed. */
export const commandName = (): string =>
  process.env['npm_command'] !== undefined || import.meta.url.endsWith('.ts')
    ? 'npx palimpsest'
    : 'palimpsest'
