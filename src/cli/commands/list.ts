import { type Command, InvalidArgumentError, Option } from 'commander'
import { hasConditions } from '../../catalogue/list/list-infos.ts'
import type { FactConditions } from '../../catalogue/list/list-pages.ts'
import { statuses } from '../../catalogue/status.ts'
import { traitNames } from '../../catalogue/traits.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { FindPage, ListOptions, ConversationInfo, Store } from '../../index.ts'
import { several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { shortIds, shortIdsIn } from '../short-ids.ts'
import { plural } from '../text.ts'
import { leavesOut, waitForIndex } from '../wait-for-index.ts'
import { writeConversationList, writePlainList } from '../views/conversation-list.ts'

interface Options extends FactConditions {
  readonly sort: NonNullable<ListOptions['sort']>
  readonly limit?: number
}

export const addList = (program: Command, shell: Shell): void => {
  program
    .command('list')
    .description('list the conversations: what needs somebody first, then by last activity')
    .addOption(
      new Option('--sort <order>', 'order: activity (last activity), begun (when they began), tokens, or id')
        .choices(['activity', 'begun', 'tokens', 'id', 'newest'])
        .default('activity'),
    )
    .option('--status <statuses>', `only with one of these: ${statuses.join(', ')}`, namesIn(statuses))
    .option('--errors', 'only with errors')
    .option('--has <traits>', `only with all of these: ${traitNames.join(', ')}`, namesIn(traitNames))
    .option('--model <name>', 'only those in which this model answered or was configured')
    .option('--actor <name>', 'only with an event by this actor: its kind, or its id')
    .option('--limit <n>', 'list at most n conversations', several)
    .addHelpText(
      'after',
      `
On a terminal, conversations that need approval or failed come first (unless
--sort or a condition is given); subagents, continuations and forks are indented
under the conversation that they belong to, and long ids are shortened: every
command accepts the short form. "~" before tokens means that some are estimated,
"≥" before US dollars that a price or usage is missing. A narrow terminal has
fewer columns.

In a pipe, each line is id, messages, events, time of the last event, title,
status, tokens, US dollars, errors and model, separated by tabs, by last
activity. If a conversation cannot be read, the problem is shown instead of the
title (key missing: see doctor).

Tokens are those that the model sees now. The cost includes the conversation's
own calls at list prices, not its subagents (palimpsest cost adds them). The
last activity is the time of the last event, which an import takes from its
file; erasing does not count. \`begun\` is when a conversation began in this
store. The list comes from the index, which the first list fills.

Examples:
  palimpsest list --limit 10
  palimpsest list --status needs-approval,failed
  palimpsest list --errors --json | jq '.conversations[].id'
  palimpsest list --sort id | cut -f1`,
    )
    .action(
      shell.action(
        'existing',
        async ({ store, out, isJson, host, fail }, { limit = Infinity, ...asked }: Options) => {
          const { problem, counts } = await waitForIndex(store, host)
          if (leavesOut(problem)) fail()
          const conversations = await collect(store, asked, limit)
          if (isJson) await out.json({ conversations, ...(problem !== undefined && { problem }) })
          else if (conversations.length === 0)
            await out.aside([hasConditions(asked) ? noMatch : noneYet, 'dim'])
          else if (!out.isTerminal) await writePlainList(out, conversations)
          else {
            const needed = await neededIn(store, asked, conversations, limit)
            const first = new Set(needed.map(({ id }) => id))
            const shown = [...needed, ...conversations.filter(({ id }) => !first.has(id))].slice(0, limit)
            const ids = shown.map(({ id }) => id)
            const isAll = limit === Infinity && !hasConditions(asked)
            const short = isAll ? shortIds(ids) : await shortIdsIn(store, ids)
            await writeConversationList(out, shown, first, short)
            const sums = counts && sumsText(counts)
            if (sums !== undefined) await out.aside([sums, 'dim'])
          }
          if (problem !== undefined) host.stderr.write(`${visible(problem)}\n`)
          const locked = conversations.filter(({ isKeyMissing }) => isKeyMissing).length
          if (!isJson && locked > 0)
            host.stderr.write(
              `${plural(locked, 'conversation')} with a missing key: palimpsest doctor says what to do\n`,
            )
        },
      ),
    )
}

const noneYet =
  'no conversations yet: palimpsest start shows a sample; palimpsest import PATH imports your sessions'
const noMatch = 'no conversation matches: palimpsest list shows all'

/** Makes a parser of names that are separated by commas. */
const namesIn =
  <N extends string>(names: readonly N[]) =>
  (text: string): readonly N[] =>
    text.split(',').map((part) => {
      const name = names.find((each) => each === part.trim())
      if (name === undefined)
        throw new InvalidArgumentError(`It must be one or more of ${names.join(', ')}, separated by commas.`)
      return name
    })

const collect = async (
  store: Store,
  options: ListOptions,
  limit: number,
): Promise<readonly ConversationInfo[]> => {
  const conversations: ConversationInfo[] = []
  for await (const info of store.conversations({ ...options, facts: true }))
    if (conversations.push(info) >= limit) break
  return conversations
}

const needing = ['needs-approval', 'failed'] as const

/** Returns the conversations that need somebody, for a list in the usual order. */
const neededIn = async (
  store: Store,
  asked: Omit<Options, 'limit'>,
  conversations: readonly ConversationInfo[],
  limit: number,
): Promise<readonly ConversationInfo[]> => {
  if (hasConditions(asked) || asked.sort !== 'activity') return []
  if (limit < Infinity) return collect(store, { sort: 'activity', status: needing }, limit)
  return conversations.filter(({ status }) => needing.some((name) => name === status))
}

/** Sums up what needs attention in the whole store; undefined if nothing does. */
const sumsText = ({ all, status, errors }: NonNullable<FindPage['counts']>): string | undefined => {
  const sums = [
    ...statuses
      .filter((name) => name !== 'idle')
      .map((name) => [status[name], name.replace('-', ' ')] as const),
    [errors, 'with errors'] as const,
  ].flatMap(([many, words]) => (many > 0 ? [`${many} ${words}`] : []))
  return sums.length === 0 ? undefined : `${plural(all, 'conversation')}: ${sums.join(', ')}`
}
