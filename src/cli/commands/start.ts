import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { Item, Store } from '../../index.ts'
import type { Entry } from '../../projections/full.ts'
import type { TimelineEntry } from '../../projections/timeline.ts'
import { toError } from '../../store/errors.ts'
import { usage } from '../errors.ts'
import type { Output } from '../output.ts'
import { commandName, configuredStore, type GlobalOptions, type Shell } from '../shell.ts'
import { padded, type Part, plural, rangesText } from '../text.ts'
import { firstLine } from '../views/content.ts'
import { itemParts, positionPart } from '../views/items.ts'
import { legend, timelineLines } from '../views/timeline.ts'
import { importFile } from './import.ts'

const sample = new URL('../../../examples/sessions/claude-code.jsonl', import.meta.url)

export const addStart = (program: Command, shell: Shell): void => {
  program
    .command('start [file]')
    .description('import a session, the sample by default, and look around in it')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest start\n  palimpsest start ~/.claude/projects/app/session.jsonl',
    )
    .action(
      shell.action('created', async (session, file: string | undefined) => {
        const imported = await importFile(session, file ?? fileURLToPath(sample), {})
        const id = imported.conversations[0]?.id
        if (id === undefined) throw toError(usage(`${file} holds no conversation`))
        const chat = session.store.conversation(id)
        const entries = await chat.timeline()
        const full = await chat.full({ abandoned: true })
        if (session.isJson) return session.out.json({ imported, conversation: id, entries, full })
        const { out, store } = session
        const isNew = imported.conversations.some(({ added }) => added > 0)
        await out.line(
          [isNew ? `Imported the ${imported.format} session ` : 'Found session '],
          [id, 'bold'],
          [isNew ? ' into ' : ' in '],
          [store.url, 'bold'],
        )
        await tour(out, { entries, items: await chat.effective(), full })
        await goOn(out, nextCommands(await shortened(store, id), full, entries), storeOption(program))
      }),
    )
}

/** A conversation from all sides. */
interface Sides {
  readonly entries: readonly TimelineEntry[]
  readonly items: readonly Item[]
  readonly full: readonly Entry[]
}

const tour = async (out: Output, { entries, items, full }: Sides): Promise<void> => {
  await heading(out, 'Timeline', `${plural(entries.length, 'event')}; every one has its position, and stays`)
  for (const line of timelineLines(entries)) await out.line(...line)
  await out.line([`       ${legend}`, 'dim'])
  await heading(out, 'What the model sees now', 'the effective history')
  for (const item of items) await out.line(...itemParts(item))
  await heading(out, 'What it does not see', 'hidden or left, never deleted')
  for (const line of hiddenLines(full, entries)) await out.line(...line)
}

const goOn = async (out: Output, commands: readonly NextCommand[], option: string): Promise<void> => {
  await heading(out, 'Go on', 'three commands to type')
  const lines = commands.map(([command, what]) => [`  ${commandName()} ${command}${option}`, what] as const)
  const columns = Math.max(...lines.map(([line]) => line.length))
  for (const [line, what] of lines) await out.line([padded(line, columns), 'call'], [`  ${what}`, 'dim'])
}

const storeOption = (program: Command): string => {
  const { store } = program.opts<GlobalOptions>()
  return store === configuredStore() ? '' : ` --store ${store}`
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A UUID's beginning, where no other conversation has the same. */
const shortened = async (store: Store, id: string): Promise<string> => {
  if (!uuid.test(id)) return id
  const beginning = id.slice(0, 8)
  for await (const other of store.conversations())
    if (other.id.startsWith(beginning) && other.id !== id && !other.id.startsWith(`${id}:`)) return id
  return beginning
}

const heading = async (out: Output, title: string, what: string): Promise<void> => {
  await out.line()
  await out.line([title, 'bold'], [`  ${what}`, 'dim'])
}

/** What hides or left messages, and why. */
const hiddenLines = (
  full: readonly Entry[],
  entries: readonly TimelineEntry[],
): readonly (readonly Part[])[] => {
  const groups = Map.groupBy(
    full.filter(({ kind, status, by }) => kind === 'message' && status !== 'active' && by !== undefined),
    ({ by }) => by ?? -1,
  )
  if (groups.size === 0) return [[['       nothing: all of it is shown', 'dim']]]
  return [...groups]
    .toSorted(([a], [b]) => a - b)
    .map(([by, hidden]) => [
      positionPart(by),
      [
        `${plural(hidden.length, 'message')} (${rangesText(hidden.map(({ position }) => position))})  `,
        'bold',
      ],
      [reasonOf(entries[by])],
    ])
}

const reasonOf = (entry: TimelineEntry | undefined): string => {
  if (entry?.event.type === 'Condensed') return `condensed by the ${entry.event.data.method}`
  if (entry?.event.type !== 'Truncated' && entry?.event.type !== 'Rewound') return ''
  const { type, data } = entry.event
  const why = data.reason === undefined ? '' : `: ${firstLine(data.reason)}`
  return type === 'Truncated' ? `truncated${why}` : `left by a rewind to ${entry.parent}${why}`
}

type NextCommand = readonly [command: string, what: string]

/** Commands that show the most of this conversation, each with what it does. */
const nextCommands = (
  id: string,
  full: readonly Entry[],
  entries: readonly TimelineEntry[],
): readonly NextCommand[] => {
  const marker = full.find(({ kind, status }) => kind !== 'message' && status !== 'abandoned')
  const everything = [`full ${id} --abandoned`, 'every message, and what became of it'] as const
  if (!marker) {
    const half = Math.floor((entries.length - 1) / 2)
    return [
      [`show ${id} --at ${half}`, `what the model saw at ${half}`],
      [`diff ${id} --from ${half}`, 'what has changed since'],
      everything,
    ]
  }
  const { position, kind } = marker
  return [
    [`show ${id} --at ${position - 1}`, `what the model saw before the ${kind}`],
    [`diff ${id} --from ${position - 1} --to ${position}`, `what the ${kind} changed`],
    everything,
  ]
}
