import type { Command } from 'commander'
import { type HeldConversation, heldConversations } from '../../api/held-conversations.ts'
import { toPromise } from '../../api/promises.ts'
import type { Conversation } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import {
  asUsage,
  type CommandContext,
  type CommandSession,
  type GlobalOptions,
  type Shell,
} from '../shell.ts'
import { writeTable } from '../views/table.ts'
import { type Reasons, withReasons } from './erase.ts'

export const addHold = (program: Command, shell: Shell): void => {
  const command = program
    .command('hold [id]')
    .description('put a conversation under a legal hold: nothing of it is erased')
  withReasons(command, 'holds it')
    .addHelpText(
      'after',
      `
Without an id, lists the holds. In a pipe, each line is conversation, name, time
at which the hold began, and reason, separated by tabs.

Examples:
  palimpsest hold task-42 --by legal --reason "case 7"
  palimpsest hold`,
    )
    .action(async (id: string | undefined, options: Reasons) => {
      if (id !== undefined)
        return shell.edit(holding((chat, given) => chat.hold(given).then(() => 'is held')))(id, options)
      if (options.by !== undefined || options.reason !== undefined)
        throw toError(usage('--by and --reason need the ID of a conversation: palimpsest list shows the ids'))
      await writeHolds(shell.surroundings(), await holdsIn(program.opts<GlobalOptions>().store))
    })
}

export const addRelease = (program: Command, shell: Shell): void => {
  const command = program
    .command('release <id>')
    .description('end your legal hold on a conversation, or the one of --by')
  withReasons(command, 'releases it')
    .addHelpText('after', '\nExample:\n  palimpsest release task-42 --by legal --reason "case 7 is closed"')
    .action(
      shell.edit(
        holding(async (chat, options) => {
          if (!(await chat.legalHold())) return 'was not held: nothing was written'
          await chat.release(options)
          const left = await chat.legalHold()
          return left
            ? `is released by ${options.by}, and still held by ${left.by} since ${left.since}`
            : 'is released'
        }),
      ),
    )
}

const holding =
  (change: (chat: Conversation, options: Reasons & { readonly by: string }) => Promise<string>) =>
  async ({ store, out, isJson, host }: CommandSession, id: string, options: Reasons): Promise<void> => {
    const by = actorIn(host, options.by)
    const done = await change(store.conversation(id), { ...options, by })
    if (isJson) return out.json({ conversation: id, by })
    await out.line([`${id} ${done}`])
  }

/** Returns the conversations of a store that are under a legal hold, in order of their ids. */
export const holdsIn = (url: string): Promise<readonly HeldConversation[]> =>
  toPromise(heldConversations(url)).catch((error: unknown) => {
    throw asUsage(error)
  })

const writeHolds = async (
  { out, isJson }: CommandContext,
  holds: readonly HeldConversation[],
): Promise<void> => {
  if (isJson) return out.json({ holds })
  if (holds.length === 0) return out.aside(['No conversation is under a legal hold.', 'dim'])
  const rows = holds.flatMap(({ conversation, others = [], ...oldest }) =>
    [oldest, ...others].map(({ by, since, reason = '' }) => [conversation, by, since, reason]),
  )
  await writeTable(out, ['conversation', 'by', 'since', 'reason'], rows, [], 'last is prose')
}
