import { type Command, Option } from 'commander'
import type { ListOptions, ConversationInfo } from '../../index.ts'
import { several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { shortIds, shortIdsIn } from '../short-ids.ts'
import { plural } from '../text.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly sort: NonNullable<ListOptions['sort']>
  readonly limit?: number
}

export const addList = (program: Command, shell: Shell): void => {
  program
    .command('list')
    .description('list the conversations, most recently active first')
    .addOption(
      new Option('--sort <order>', 'order: activity (last activity), begun (when they began), or id')
        .choices(['activity', 'begun', 'id', 'newest'])
        .default('activity'),
    )
    .option('--limit <n>', 'list at most n conversations', several)
    .addHelpText(
      'after',
      `
On a terminal, subagents, continuations and forks are indented under the
conversation that they belong to, and long ids are shortened; every command
accepts the short form. In a pipe, each line is id, messages, events, time of
the last event and title, separated by tabs. If a conversation cannot be read,
the problem is shown instead of the title (key missing: see doctor).
EventStoreDB does not count messages.

The last activity is the time of the last event, which an import takes from its
file; erasing does not count. \`begun\` is when a conversation began in this
store. With --limit, the order by last activity comes from the index. Until
every conversation is indexed, they are listed in the order in which they began,
and a message on standard error says so.

Examples:
  palimpsest list --limit 10
  palimpsest list --sort id | cut -f1`,
    )
    .action(
      shell.action(
        'existing',
        async ({ store, out, isJson, host }, { sort: asked, limit = Infinity }: Options) => {
          // All conversations can be ordered here, without an index.
          const isWhole = asked === 'activity' && limit === Infinity
          const isKnown =
            asked !== 'activity' || isWhole || (await store.catalogue.find({ limit: 1 })).isComplete
          const sort = isWhole ? 'begun' : isKnown ? asked : undefined
          if (!isKnown)
            host.stderr.write(
              'ordered by when they began: the last activity is known only once everything is indexed\n',
            )
          const listed: ConversationInfo[] = []
          for await (const info of store.conversations({ sort })) if (listed.push(info) >= limit) break
          const conversations = isWhole ? byActivity(listed) : listed
          if (isJson) return out.json({ conversations })
          if (conversations.length === 0)
            return out.aside([
              'no conversations yet: palimpsest start shows a sample; palimpsest import PATH imports your sessions',
              'dim',
            ])
          if (!out.isTerminal) await writeTable(out, [], conversations.map(plainRow))
          else {
            const ids = conversations.map(({ id }) => id)
            const short = limit === Infinity ? shortIds(ids) : await shortIdsIn(store, ids)
            const rows = inTree(conversations).map((leaf) => shownRow(leaf, short))
            await writeTable(out, headings, rows, [1], 'last is prose')
          }
          const locked = conversations.filter(({ isKeyMissing }) => isKeyMissing).length
          if (locked > 0)
            host.stderr.write(
              `${plural(locked, 'conversation')} with a missing key: palimpsest doctor says what to do\n`,
            )
        },
      ),
    )
}

/** Orders conversations by last activity, latest first. Conversations that cannot be read have none and come last. */
const byActivity = (listed: readonly ConversationInfo[]): readonly ConversationInfo[] => {
  const times = new Map(listed.map((info) => [info, Date.parse(info.updated) || -Infinity]))
  return listed.toSorted((a, b) => Number(times.get(b)) - Number(times.get(a)) || 0)
}

const headings = ['conversation', 'messages', 'last event', 'title']

/** Orders conversations as a tree: each one is listed under its parent if the parent is listed, too. */
const inTree = (conversations: readonly ConversationInfo[]): readonly Leaf[] => {
  const ids = new Set(conversations.map(({ id }) => id))
  const isUnder = ({ id, parent }: ConversationInfo): boolean =>
    parent !== undefined && parent !== id && ids.has(parent)
  const children = Map.groupBy(conversations.filter(isUnder), ({ parent }) => parent)
  const shown = new Set<string>()
  const leaves: Leaf[] = []
  // Links may form cycles, to which no root leads. So all conversations are tried as roots after the real ones.
  for (const root of [...conversations.filter((one) => !isUnder(one)), ...conversations]) {
    const open: Leaf[] = [{ info: root, depth: 0 }]
    for (let leaf = open.pop(); leaf; leaf = open.pop()) {
      const { info, depth } = leaf
      if (shown.has(info.id)) continue
      shown.add(info.id)
      leaves.push(leaf)
      const below = children.get(info.id) ?? []
      open.push(...below.map((child): Leaf => ({ info: child, depth: depth + 1 })).toReversed())
    }
  }
  return leaves
}

interface Leaf {
  readonly info: ConversationInfo
  readonly depth: number
}

/** Returns the title of a conversation, or why it cannot be read. */
const titleOf = ({ title, problem, isKeyMissing }: ConversationInfo): string =>
  isKeyMissing ? 'key missing' : (problem ?? title)

const shownRow = ({ info, depth }: Leaf, short: ReadonlyMap<string, string>): readonly string[] => {
  const { id, messages, updated } = info
  return [
    `${'  '.repeat(depth)}${short.get(id) ?? id}`,
    String(messages ?? ''),
    updated.slice(0, 10),
    titleOf(info),
  ]
}

const plainRow = (info: ConversationInfo): readonly string[] => [
  info.id,
  String(info.messages ?? ''),
  String(info.events),
  info.updated,
  titleOf(info),
]
