import { type Command, Option } from 'commander'
import type { RetentionPeriod, RetentionReport, Store } from '../../index.ts'
import { meantId } from '../../events/nearest.ts'
import { toError } from '../../result/typed-error.ts'
import { confirm } from '../confirm.ts'
import { period } from '../durations.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import { newName } from '../options.ts'
import type { Output } from '../output.ts'
import { type CommandSession, newestIds, type Shell, type StoreAccess } from '../shell.ts'
import { plural } from '../text.ts'
import { writeRemainder } from './erase.ts'
import { amountOf, countDue, whenApplied, writeConversations } from '../views/due-content.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly keep?: RetentionPeriod
  readonly for?: string
  readonly force?: true
  readonly reason?: string
  readonly yes?: true
  readonly end?: string
  readonly apply?: true
  readonly dryRun?: true
  readonly by?: string
}

export const addRetention = (program: Command, shell: Shell): void => {
  const others = ['keep', 'apply']
  program
    .command('retention')
    .description('list, set, end and apply the rules about how long content is kept')
    .option('--keep <duration>', 'set a rule: keep content for this long: 12mo, 2y, 400d', period)
    .option('--for <prefix>', "with --keep: for the conversations whose id begins with this; '' for all")
    .option('--force', 'with --keep: allow less than six months; --reason must say why')
    .option('--reason <text>', 'with --keep: reason, stored with the rule')
    .option('--yes', 'with --keep: set the rule without asking')
    .addOption(new Option('--end <prefix>', 'end the rule for this prefix').conflicts(others))
    .addOption(newName(new Option('--remove <prefix>'), 'end').conflicts(others).hideHelp())
    .addOption(new Option('--apply', 'erase what the rules no longer keep').conflicts('keep'))
    .addOption(new Option('--list').conflicts([...others, 'end']).hideHelp())
    .option('--dry-run', 'with --keep or --apply: only say what would be erased')
    .option('--by <name>', 'who sets, ends or applies it (default: $USER)')
    .addHelpText(
      'after',
      `
Without options, lists the rules. The rule with the longest prefix that matches
decides. A conversation without a rule is kept. --apply erases every event that
was recorded longer ago than its rule says, as \`palimpsest erase --older-than\`
does; conversations under a legal hold, or with a call that a turn left open,
are skipped and named. \`palimpsest serve\` and \`palimpsest work\` apply the rules
when they start, then daily: a new rule may erase within seconds. On a terminal,
--keep says what is due, and sets the rule only once you confirm it.
The AI Act (articles 19 and 26(6)) requires that logs are kept for six months or
more, so a rule that keeps less is refused without --force and --reason.

Examples:
  palimpsest retention --keep 12mo --for support- --dry-run
  palimpsest retention --keep 12mo --for support- --by ann
  palimpsest retention
  palimpsest retention --end support-
  palimpsest retention --apply --dry-run`,
    )
    .action(
      shell.action(accessFor, async (session: CommandSession, options: Options) => {
        const { store, out, isJson, host } = session
        const by = actorIn(host, options.by)
        if (options.keep) return setRule(session, { ...options, keep: options.keep, by })
        if (options.end !== undefined) {
          await store.retention.end({ prefix: options.end, by })
          if (isJson) return out.json({ prefix: options.end, by })
          return out.line([`the rule for '${options.end}' has ended`])
        }
        if (!options.apply) return list(store, out, isJson)
        const report = await store.retention.apply({ by, dryRun: options.dryRun })
        if (isJson) return out.json(report)
        if ((await store.retention.rules()).length === 0) return out.line([noRules])
        await write(out, report, options.dryRun ? 'would erase' : 'erased')
      }),
    )
}

/** Sets a rule, or only says how much becomes due by it. On a terminal, sets it once it is confirmed. */
const setRule = async (
  { store, out, isJson, host }: CommandSession,
  {
    keep: kept,
    for: prefix = '',
    by,
    reason,
    force,
    yes,
    dryRun,
  }: Options & { readonly keep: RetentionPeriod; readonly by: string },
): Promise<void> => {
  const rule = { prefix, keep: kept, by, reason, force }
  const what = `${await namedFor(store, prefix)} are kept for ${periodText(kept)}`
  if (dryRun) {
    const report = await store.retention.apply({ dryRun, rule })
    if (isJson) return out.json(report)
    await out.line([`with this rule, ${what}`])
    return writeDue(store, out, prefix, report)
  }
  const asks = !yes && host.stdin.isTTY === true
  // Refused before the question if the rule is invalid.
  const due = asks || !isJson ? await countDue(store, { rule }) : undefined
  if (asks) {
    if (due && !isJson) await writeDue(store, out, prefix, due)
    if (!(await confirm(host, `Set the rule: ${what}?`))) return out.line(['nothing was set'])
  }
  await store.retention.set(rule)
  if (isJson) return out.json({ prefix, keep: kept, by })
  await out.line([what])
  if (due && !asks) await writeDue(store, out, prefix, due)
}

/** Checks the options. Setting a rule may create the store. */
const accessFor = ({ keep, for: prefix, force, reason, yes, apply, dryRun }: Options): StoreAccess => {
  if (keep && prefix === undefined)
    throw toError(usage("--keep needs --for PREFIX; --for '' means all conversations"))
  if (!keep && (prefix !== undefined || force || reason !== undefined || yes))
    throw toError(
      usage('--for, --force, --reason and --yes need --keep DURATION. To end a rule: retention --end PREFIX'),
    )
  if (dryRun && !apply && !keep) throw toError(usage('--dry-run needs --keep or --apply'))
  return keep && !dryRun ? 'created' : 'existing'
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
  await out.aside(['to end one: palimpsest retention --end PREFIX', 'dim'])
}

/** Names the conversations of a rule: not those that a rule with a longer prefix decides about. */
const namedFor = async (store: Store, prefix: string): Promise<string> => {
  const rules = await store.retention.rules()
  const isNarrower = rules.some((rule) => rule.prefix !== prefix && rule.prefix.startsWith(prefix))
  const named = isNarrower ? 'other conversations' : 'conversations'
  return prefix === '' ? `all ${named}` : `${named} whose id begins with ${prefix}`
}

export const periodText = (keep: RetentionPeriod): string =>
  'months' in keep ? plural(keep.months, 'month') : plural(keep.days, 'day')

/** Maximum number of conversations erased from that are shown. */
const mostShown = 20

/** Maximum number of conversations that are shown before a rule is set. */
const fewShown = 5

/** Says what a rule makes due now, and when that is erased. */
const writeDue = async (
  store: Store,
  out: Output,
  prefix: string,
  due: RetentionReport | string,
): Promise<void> => {
  if (typeof due === 'string') return out.line([due, 'warning'])
  if (due.matching === 0 && due.isComplete) {
    const near = prefix === '' ? undefined : await nearPrefix(store, prefix)
    const advice = near === undefined ? '' : `: did you mean ${near}?`
    return out.line([`the rule applies to no conversation now${advice}`, 'warning'])
  }
  if (due.conversations > 0) {
    await out.line([`due now: ${amountOf(due)}`, 'warning'])
    await out.line([whenApplied])
  } else await out.line([`due now: ${nothingDue(due)}`])
  await writeConversations(out, due, fewShown)
}

/** Returns the beginning of a conversation's id, among the newest, that was probably meant by a prefix. */
const nearPrefix = async (store: Store, prefix: string): Promise<string | undefined> => {
  const ids = await newestIds(store)
  const lengths = [0, 1, -1].map((more) => prefix.length + more)
  const beginnings = lengths.flatMap((length) => ids.map((id) => id.slice(0, length)))
  return meantId(prefix, [...new Set(beginnings)])
}

const nothingDue = ({ skipped }: RetentionReport): string =>
  skipped.length > 0 ? 'nothing, because what is due is skipped' : 'nothing'

const write = async (out: Output, report: RetentionReport, verb: 'erased' | 'would erase'): Promise<void> => {
  const nothing = report.skipped.length > 0 ? nothingDue(report) : 'nothing is due'
  await out.line([verb, 'bold'], [`: ${report.conversations > 0 ? amountOf(report) : nothing}`])
  await writeRemainder(out, report, verb === 'would erase')
  await writeConversations(out, report, mostShown)
}
