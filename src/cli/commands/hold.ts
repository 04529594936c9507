import type { Command } from 'commander'
import { type HeldConversation, heldConversations } from '../../api/held-conversations.ts'
import { toPromise } from '../../api/promises.ts'
import type { Conversation, RetentionReport, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import type { Output } from '../output.ts'
import {
  asUsage,
  type CommandContext,
  type CommandSession,
  type GlobalOptions,
  type Shell,
} from '../shell.ts'
import { idsText, plural } from '../text.ts'
import { amountOf, countDue, whenApplied, writeConversations } from '../views/due-content.ts'
import { writeTable } from '../views/table.ts'
import { type Reasons, withReasons } from './erase.ts'
import { periodText } from './retention.ts'

export const addHold = (program: Command, shell: Shell): void => {
  const command = program
    .command('hold [id]')
    .description('put a conversation and its subagents under a legal hold: none is erased')
  withReasons(command, 'holds it')
    .addHelpText(
      'after',
      `
The hold covers the conversations of its subagents, and of theirs, as the links
\`has-subagent\` and \`subagent-of\` name them, later ones included.
Without an id, lists the holds. In a pipe, each line is conversation, name, time
at which the hold began, and reason, separated by tabs; covered conversations
have lines of their own, with the held one in a fifth column.

Examples:
  palimpsest hold task-42 --by legal --reason "case 7"
  palimpsest hold`,
    )
    .action(async (id: string | undefined, options: Reasons) => {
      if (id !== undefined)
        return shell.edit(
          holding(async (chat, given) => {
            await chat.hold(given)
            const { covers = [] } = (await chat.legalHold()) ?? {}
            return { text: `is held${coversText(covers)}`, covers }
          }),
        )(id, options)
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
    .addHelpText(
      'after',
      `
Says what of it a retention rule no longer keeps, and when that is erased.

Example:
  palimpsest release task-42 --by legal --reason "case 7 is closed"`,
    )
    .action(
      shell.edit(
        holding(async (chat, options, store) => {
          const before = await chat.legalHold()
          if (!before) return { text: 'was not held: nothing was written' }
          await chat.release(options)
          const left = await chat.legalHold()
          if (!left)
            return {
              text: 'is released',
              due: await countDue(store, { conversations: [chat.id, ...(before.covers ?? [])] }),
            }
          const as = left.conversation === undefined ? '' : `, as a subagent of ${left.conversation}`
          return {
            text: `is released by ${options.by}, and still held by ${left.by} since ${left.since}${as}`,
          }
        }),
      ),
    )
}

interface HoldChange {
  readonly text: string
  readonly covers?: readonly string[]
  /** Content of the conversation and its subagents that a retention rule no longer keeps, or why it is unknown. */
  readonly due?: RetentionReport | string
}

const holding =
  (
    change: (
      chat: Conversation,
      options: Reasons & { readonly by: string },
      store: Store,
    ) => Promise<HoldChange>,
  ) =>
  async ({ store, out, isJson, host }: CommandSession, id: string, options: Reasons): Promise<void> => {
    const by = actorIn(host, options.by)
    const { text, covers, due } = await change(store.conversation(id), { ...options, by }, store)
    if (isJson)
      return out.json({
        conversation: id,
        by,
        ...(covers && { covers }),
        ...(typeof due === 'object' && { due }),
      })
    await out.line([`${id} ${text}`])
    if (due !== undefined) await writeDue(store, out, due)
  }

/** Says what is due of released conversations, by which rules, and when it is erased. */
const writeDue = async (store: Store, out: Output, due: RetentionReport | string): Promise<void> => {
  if (typeof due === 'string') return out.line([due, 'warning'])
  if (due.conversations > 0) {
    const of = new Set(due.erased.map(({ prefix }) => prefix))
    const rules = (await store.retention.rules()).filter(({ prefix }) => of.has(prefix))
    const named = rules.map(({ prefix, keep }) => `'${prefix}' (${periodText(keep)})`).join(', ')
    await out.line([
      `due now: ${amountOf(due)}, by the ${rules.length === 1 ? 'rule' : 'rules'} for ${named}`,
      'warning',
    ])
    await out.line([whenApplied])
  }
  await writeConversations(out, { ...due, erased: [], conversations: 0 }, 0)
}

const coversText = (covers: readonly string[]): string =>
  covers.length === 0 ? '' : `, with ${plural(covers.length, 'subagent')}: ${idsText(covers)}`

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
  const rowsOf = (id: string, of: HeldConversation): readonly string[][] =>
    [of, ...(of.others ?? [])].map(({ by, since, reason = '' }) => [id, by, since, reason])
  if (!out.isTerminal) {
    const rows = holds.flatMap((held) => [
      ...rowsOf(held.conversation, held),
      ...(held.covers ?? []).flatMap((id) => rowsOf(id, held).map((row) => [...row, held.conversation])),
    ])
    return writeTable(out, [], rows)
  }
  const rows = holds.flatMap((held) => rowsOf(held.conversation, held))
  await writeTable(out, ['conversation', 'by', 'since', 'reason'], rows, [], 'last may go below')
  for (const { conversation, covers = [] } of holds)
    if (covers.length > 0) await out.line([`${conversation} is held${coversText(covers)}`])
}
