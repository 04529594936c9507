import { type Command, Option } from 'commander'
import type { ErasedContent, ErasureReport, RecordedExport } from '../../index.ts'
import { bytesText } from '../../store/diagnosis.ts'
import { ago } from '../durations.ts'
import { confirm } from '../confirm.ts'
import type { CliError } from '../errors.ts'
import { actorIn, type Host } from '../host.ts'
import { positions } from '../options.ts'
import type { Output } from '../output.ts'
import { callsLeft, spoolFolder } from '../record/spool.ts'
import { toError } from '../../result/typed-error.ts'
import type { Shell } from '../shell.ts'
import { idsText, plural, rangesText } from '../text.ts'
import { partsOf } from '../views/due-content.ts'

/** Options that say who gives an order and why. */
export interface Reasons {
  readonly by?: string
  readonly reason?: string
}

interface Options extends Reasons {
  readonly positions?: readonly number[]
  readonly notes?: readonly number[]
  readonly olderThan?: Date
  readonly again?: true
  readonly withSubagents?: true
  readonly dryRun?: true
  readonly yes?: true
}

export const addErase = (program: Command, shell: Shell): void => {
  const command = program
    .command('erase <id>')
    .description('erase content for good; the proofs of everything else stay valid')
    .option('--positions <positions>', 'only these events: 12,15-18 (default: everything)', positions)
    .option('--notes <notes>', 'these notes and links, counted from 0', positions)
    .option('--older-than <duration>', 'only what is older: 12mo, 30d, 36h', ago)
    .addOption(
      new Option(
        '--again',
        'erase once more what the conversation records as erased, in a restored copy',
      ).conflicts(['positions', 'notes', 'olderThan']),
    )
    .addOption(
      new Option(
        '--with-subagents',
        'also the conversations of its subagents, once all were checked for legal holds',
      ).conflicts(['positions', 'notes']),
    )
    .option('--dry-run', 'only say what would be erased')
    .option('--yes', 'erase the whole conversation without asking')
  withReasons(command, 'has it erased')
    .addHelpText(
      'after',
      `
The content of the events goes: texts, inputs, results, names of files, reasons,
and the copies in notes, in the inbox and in the records of turns. What stays:
places, types, times, ids, names of tools and models, numbers of tokens, hashes.
An event says which content was erased, by whom and why. On a terminal, a whole
conversation is erased only once you confirm it. docs/erasure.md says
what else must be done: other conversations, backups, exports, the provider.

Examples:
  palimpsest erase task-42 --positions 12,15-18 --dry-run
  palimpsest erase task-42 --positions 12 --by ann --reason "request 17"
  palimpsest erase task-42 --older-than 12mo`,
    )
    .action(
      shell.edit(async ({ store, out, isJson, host }, id: string, given: Options) => {
        const { olderThan: before, by, yes, ...options } = given
        const chat = store.conversation(id)
        checkNoneWait(host, store.url)
        if (!yes && host.stdin.isTTY && isWhole(given)) {
          // Refused before the question if it cannot be erased.
          await chat.erase({ ...options, dryRun: true })
          if (!(await confirm(host, question(id, given)))) return out.line(['nothing was erased'])
        }
        const report = await chat.erase({ ...options, before, by: actorIn(host, by) })
        const exports: RecordedExport[] = []
        const ids = new Set([id, ...(report.fromSubagents ?? []).map(({ conversation }) => conversation)])
        for await (const one of store.audit.exports())
          if (one.conversations.some((each) => ids.has(each))) exports.push(one)
        if (isJson) return out.json({ ...report, exports })
        await write(out, report, given)
        for (const { time, by: whose, format, reason } of exports)
          await out.line([
            `exported ${time} by ${whose} (${[format, ...(reason === undefined ? [] : [reason])].join(': ')}): that copy is not erased`,
            'warning',
          ])
      }),
    )
}

/** Throws `CallsWait` if calls wait to be recorded, because each of them has the whole history again. */
const checkNoneWait = (host: Host, url: string): void => {
  const folder = spoolFolder(host, url)
  const calls = folder === undefined ? 0 : callsLeft(folder)
  if (folder !== undefined && calls > 0) throw toError(callsWait(folder, calls))
}

const callsWait = (folder: string, calls: number): CliError => ({
  _tag: 'CallsWait',
  message: `${plural(calls, 'call')} of a recorder that has ended ${calls === 1 ? 'waits' : 'wait'} in ${folder}, with the content of whole conversations: record them first (palimpsest record -- true), or remove the folder`,
  folder,
  calls,
})

/** Reports whether everything in a conversation is to be erased now. */
const isWhole = ({ positions: some, notes, olderThan, again, dryRun }: Options): boolean =>
  !some && !notes && !olderThan && !again && !dryRun

const question = (id: string, { withSubagents }: Options): string =>
  `Erase the content of the whole conversation ${id}${withSubagents ? ', and of its subagents,' : ''} for good? --dry-run shows what goes.`

/** Adds the options that say who gives the order and why. */
export const withReasons = (command: Command, does: string): Command =>
  command
    .option('--by <name>', `who ${does} (default: $USER)`)
    .option('--reason <text>', 'reason, stored with the event')

const partsText = ({ positions: erased, notes, turns, inbox, archive, contents }: ErasedContent): string =>
  [
    ...(erased.length > 0 ? [`${plural(erased.length, 'event')} (${rangesText(erased)})`] : []),
    partsOf({ events: 0, notes, turns, inbox, files: archive > 0 ? 1 : 0, contents }),
  ]
    .filter((part) => part !== '')
    .join(', ')

const nothingAgain =
  'nothing that it records as erased is there again. A backup from before an erasure has no record of it: repeat the original command, or copy from the former store (palimpsest copy --from sqlite:….replaced-…/FILE --to STORE), which brings its erasures'

const write = async (
  out: Output,
  report: ErasureReport,
  { dryRun, again, olderThan, positions: some }: Options,
): Promise<void> => {
  const { rewritten, repeated, subagents, fromSubagents = [] } = report
  const nothing = again
    ? nothingAgain
    : olderThan
      ? 'nothing that old is left to erase'
      : 'nothing is left to erase'
  for (const each of [report, ...fromSubagents])
    await out.line(
      [dryRun ? 'would erase' : 'erased', 'bold'],
      [` from ${each.conversation}: ${partsText(each) || nothing}`],
    )
  const recent = [report, ...fromSubagents].reduce((sum, each) => sum + each.recent, 0)
  await writeRemainder(out, { rewritten, recent }, dryRun)
  if (subagents.length > 0)
    await out.line([
      `not erased: the conversations of ${plural(subagents.length, 'subagent')} (${some ? 'they may repeat it' : '--with-subagents'}): ${idsText(subagents)}`,
      'warning',
    ])
  if (repeated.length === 0) return
  // Loaded when it is needed: it knows the rules for secrets.
  const { placeText } = await import('../../transfer/disclosure/prepare.ts')
  for (const line of repeatedLines(repeated, placeText)) await out.line([line, 'warning'])
}

/** Says that the store's file is rewritten before an erasure, and which large content stays for now. */
export const writeRemainder = async (
  out: Output,
  { rewritten, recent }: { readonly rewritten?: number | undefined; readonly recent: number },
  dryRun?: boolean,
): Promise<void> => {
  if (rewritten !== undefined)
    await out.line([
      dryRun
        ? `would first rewrite the store's file (${bytesText(rewritten)}), because 0.1.0 left removed content in its unused parts; nobody can write meanwhile`
        : `the store's file was rewritten first (${bytesText(rewritten)}), because 0.1.0 had left removed content in its unused parts`,
    ])
  if (recent > 0)
    await out.line([
      `not removed yet: ${plural(recent, 'large content')} stored recently, which no event has any more. Run palimpsest gc --older-than 1min in a minute`,
      'warning',
    ])
}

/** Maximum number of repeated texts that are listed. */
const mostRepeated = 20

/** Describes repeated words, a line for each text with all places that repeat it. */
const repeatedLines = (
  repeated: ErasureReport['repeated'],
  placeText: (place: ErasureReport['repeated'][number]['place']) => string,
): readonly string[] => {
  const texts = [...Map.groupBy(repeated, ({ excerpt }) => excerpt)]
  const more = texts.length - mostRepeated
  return [
    ...texts.slice(0, mostRepeated).map(([excerpt, places]) => {
      const events = ascending(
        places.flatMap(({ place }) => (place.kind === 'event' ? (place.position ?? []) : [])),
      )
      const others = places.filter(({ place }) => place.kind !== 'event')
      const where = [
        ...(events.length > 0 ? [positionsText(events)] : []),
        ...others.map(({ place }) => placeText(place)),
      ]
      const verb = places.length === 1 ? 'repeats' : 'repeat'
      return `${where.join(', ')} ${verb} words of ${positionsText(ascending(places.flatMap(({ of }) => of)))}: ${excerpt}`
    }),
    ...(more > 0 ? [`${plural(more, 'more text is', 'more texts are')} repeated: --json lists all`] : []),
  ]
}

const ascending = (numbers: readonly number[]): readonly number[] =>
  [...new Set(numbers)].toSorted((one, other) => one - other)

const positionsText = (of: readonly number[]): string =>
  `${of.length === 1 ? 'position' : 'positions'} ${rangesText(of)}`
