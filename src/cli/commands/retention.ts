import { type Command, Option } from 'commander'
import type { RetentionPeriod, RetentionReport, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { period } from '../durations.ts'
import { failureOf, usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import type { Output } from '../output.ts'
import type { CommandSession, Shell, StoreAccess } from '../shell.ts'
import { plural } from '../text.ts'
import { writeRemainder } from './erase.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly keep?: RetentionPeriod
  readonly for?: string
  readonly force?: true
  readonly reason?: string
  readonly remove?: string
  readonly apply?: true
  readonly dryRun?: true
  readonly by?: string
}

export const addRetention = (program: Command, shell: Shell): void => {
  program
    .command('retention')
    .description('list, set and apply the rules about how long content is kept')
    .option('--keep <duration>', 'set a rule: keep content for this long: 12mo, 2y, 400d', period)
    .option('--for <prefix>', "with --keep: for the conversations whose id begins with this; '' for all")
    .option('--force', 'with --keep: allow less than six months; --reason must say why')
    .option('--reason <text>', 'with --keep: reason, stored with the rule')
    .addOption(new Option('--remove <prefix>', 'end the rule for this prefix').conflicts(['keep', 'apply']))
    .addOption(new Option('--apply', 'erase what the rules no longer keep').conflicts('keep'))
    .option('--dry-run', 'with --apply: only say what would be erased')
    .option('--by <name>', 'who sets, ends or applies it (default: $USER)')
    .addHelpText(
      'after',
      `
The rule with the longest prefix that matches decides. A conversation without a
rule is kept. --apply erases every event that was recorded longer ago than its
rule says, as \`palimpsest erase --older-than\` does; conversations under a legal
hold, or with a call without a result, are skipped and named. \`palimpsest serve\`
and \`palimpsest work\` apply the rules once a day.
The AI Act (articles 19 and 26(6)) requires that logs are kept for six months or
more, so a rule that keeps less is refused without --force and --reason.

Examples:
  palimpsest retention --keep 12mo --for support- --by ann
  palimpsest retention --apply --dry-run
  palimpsest retention`,
    )
    .action(
      shell.action(accessFor, async (session: CommandSession, options: Options) => {
        const { store, out, isJson, host } = session
        const by = actorIn(host, options.by)
        if (options.keep) {
          const { keep, for: prefix = '', reason, force } = options
          await store.retention.set({ prefix, keep, by, reason, force })
          if (isJson) return out.json({ prefix, keep, by })
          await out.line([`${namedFor(prefix)} are kept for ${periodText(keep)}`])
          return writeDue(store, out)
        }
        if (options.remove !== undefined) {
          await store.retention.end({ prefix: options.remove, by })
          if (isJson) return out.json({ prefix: options.remove, by })
          return out.line([`the rule for '${options.remove}' has ended`])
        }
        if (!options.apply) return list(store, out, isJson)
        const report = await store.retention.apply({ by, dryRun: options.dryRun })
        if (isJson) return out.json(report)
        if ((await store.retention.rules()).length === 0) return out.line([noRules])
        await write(out, report, options.dryRun === true)
      }),
    )
}

/** Checks the options. Setting a rule may create the store. */
const accessFor = ({ keep, for: prefix, force, reason, apply, dryRun }: Options): StoreAccess => {
  if (keep && prefix === undefined)
    throw toError(usage("--keep needs --for PREFIX; --for '' means all conversations"))
  if (!keep && (prefix !== undefined || force || reason !== undefined))
    throw toError(usage('--for, --force and --reason need --keep DURATION'))
  if (dryRun && !apply) throw toError(usage('--dry-run needs --apply'))
  return keep ? 'created' : 'existing'
}

const noRules = 'no rules: everything is kept; palimpsest retention --keep 12mo --for PREFIX sets one'

const list = async (store: Store, out: Output, isJson: boolean): Promise<void> => {
  const rules = await store.retention.rules()
  if (isJson) return out.json({ rules })
  if (rules.length === 0) return out.aside([noRules, 'dim'])
  await writeTable(
    out,
    ['prefix', 'kept for', 'since', 'by', 'reason'],
    rules.map(({ prefix, keep, since, by, reason = '' }) => [
      `'${prefix}'`,
      periodText(keep),
      since,
      by,
      reason,
    ]),
    [],
    'last is prose',
  )
}

const namedFor = (prefix: string): string =>
  prefix === '' ? 'all conversations' : `conversations whose id begins with ${prefix}`

const periodText = (keep: RetentionPeriod): string =>
  'months' in keep ? plural(keep.months, 'month') : plural(keep.days, 'day')

/** Maximum number of conversations erased from that are shown. */
const mostShown = 20

/** Maximum time for counting what is due once a rule is set, in milliseconds, as a large store takes long. */
const countingTime = 5_000

/** Says how much the rules of a store erase at once. */
const writeDue = async (store: Store, out: Output): Promise<void> => {
  try {
    const report = await store.retention.apply({ dryRun: true, signal: AbortSignal.timeout(countingTime) })
    const least = report.isComplete ? '' : 'at least '
    if (report.conversations > 0)
      await out.line([
        `due now, and erased within a day by serve or work: ${least}${amountOf(report)}; palimpsest retention --apply --dry-run names them`,
        'warning',
      ])
  } catch (error) {
    // The rule is set all the same.
    await out.line([failureOf(error).message, 'warning'])
  }
}

const amountOf = ({ conversations, events, notes, turns, inbox, contents }: RetentionReport): string => {
  const parts = [
    plural(events, 'event'),
    ...(notes > 0 ? [plural(notes, 'note')] : []),
    ...(turns > 0 ? [plural(turns, 'record of turns', 'records of turns')] : []),
    ...(inbox > 0 ? [plural(inbox, 'queued message')] : []),
    ...(contents > 0 ? [plural(contents, 'large content')] : []),
  ]
  return `${parts.join(', ')} of ${plural(conversations, 'conversation')}`
}

const write = async (out: Output, report: RetentionReport, isDry: boolean): Promise<void> => {
  const { conversations, erased, skipped, moreSkipped } = report
  const what =
    conversations > 0
      ? amountOf(report)
      : skipped.length > 0
        ? 'nothing, because what is due is skipped'
        : 'nothing is due'
  await out.line([isDry ? 'would erase' : 'erased', 'bold'], [`: ${what}`])
  await writeRemainder(out, report, isDry)
  const shown = erased.slice(0, mostShown)
  for (const one of shown)
    await out.line([
      `  ${one.conversation}  ${plural(one.events, 'event')}, the first of ${one.first.slice(0, 10)}`,
    ])
  if (conversations > shown.length)
    await out.line([
      `  and ${plural(conversations - shown.length, 'more conversation')} (--json names 1,000)`,
      'dim',
    ])
  for (const { conversation, problem } of skipped)
    await out.line([
      `skipped ${conversation}: ${problem.replace(`nothing of conversation ${conversation} was erased: `, '')}`,
      'warning',
    ])
  if (moreSkipped > 0) await out.line([`skipped ${plural(moreSkipped, 'further conversation')}`, 'warning'])
}
