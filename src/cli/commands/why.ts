import { type Command, Option } from 'commander'
import type { CallName, LossReport, MarkerStory, Why } from '../../investigate/index.ts'
import { limitHeapGrowth } from '../bounded-heap.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { callNameHelp, callNameOrLast, position as markerPosition } from '../options.ts'
import type { Output } from '../output.ts'
import type { Shell } from '../shell.ts'
import { plural, rangesText, thousands, tokensText } from '../text.ts'

interface Options {
  readonly call?: CallName | 'last'
  readonly all?: true
  readonly marker?: number
}

export const addWhy = (program: Command, shell: Shell): void => {
  program
    .command('why <id>')
    .description('explain what the model could see in a call, and what changed since the last')
    .option('--call <n>', `${callNameHelp} (default)`, callNameOrLast)
    .addOption(
      new Option(
        '--all',
        'of all replies: list everything that summaries and truncations lost: hidden, but referenced later',
      ).conflicts('call'),
    )
    .addOption(
      new Option(
        '--marker <position>',
        'of a summary or truncation: list the messages that it hid, and the names that it lost',
      )
        .argParser(markerPosition)
        .conflicts(['call', 'all']),
    )
    .addHelpText(
      'after',
      `
Prints what was shown and hidden, the event that caused each difference from the
previous reply, and the paths, identifiers, ids and numbers in the answer that
occur only in hidden messages. Tokens are the API's counts if replies recorded
them; \`log\` and \`show\` have the estimates that were recorded with a marker.

Calls with a receipt have numbers, which "request --list" lists. A reply without
a receipt, such as one in an imported session, is named by its position (p17):
what the model was shown is then derived from the log, not proven.

--all examines every reply. It lists the names that no visible message contained
when a reply used them, most referenced first: the number of replies that use
the name from then on, the name, the hidden messages that contain it, and the
events that hid them.

--marker lists what a summary or truncation hid: the user's messages, failed
tool calls, changed files and tool calls, each with positions; and lost names:
those in hidden messages that replies used later although the summary lacks
them, rarest first, and files that were read again.

Examples:
  palimpsest why task-42
  palimpsest why task-42 --call 12
  palimpsest why imported --call p17
  palimpsest why task-42 --all
  palimpsest why task-42 --marker 160`,
    )
    .action(
      shell.look(async ({ store, out, isJson }, id: string, { call, all, marker }: Options) => {
        limitHeapGrowth()
        const { markerStory, why, whyAll } = await import('../../investigate/index.ts')
        if (marker !== undefined) {
          const story = await markerStory(store, { conversation: id, marker })
          if (!story)
            throw toError(
              usage(`there is no marker at position ${marker} of ${id}: \`log ${id}\` lists them`),
            )
          return isJson ? out.json(story) : writeStory(out, story)
        }
        if (all) {
          const report = await whyAll(store.conversation(id))
          return isJson ? out.json(report) : writeLosses(out, report)
        }
        const found = await why(store.conversation(id), { call: call === 'last' ? undefined : call })
        return isJson ? out.json(found) : write(out, found)
      }),
    )
}

const write = async (out: Output, found: Why): Promise<void> => {
  const { call, kind, position, at, model, derived, tokens, shown, hidden, abandoned, before } = found
  await out.line(
    [`call ${call}`, 'bold'],
    [`: the ${kind} at ${position}, to the context at ${at}${model === undefined ? '' : `, by ${model}`}`],
  )
  if (found.isAbandoned)
    await out.line(['abandoned: a rewind has taken this answer from the path', 'warning'])
  const beside = shown.reduce((left, item) => left - item.tokens, tokens)
  if (derived) await writeDerived(out, derived, beside)
  // Without a record of the system prompt and the tools, the size of everything that is not recorded has its own line.
  const prompt = derived || beside <= 0 ? '' : `, of which system prompt and tools ${thousands(beside)}`
  await out.line([
    `shown: ${plural(shown.length, 'item')}, ${tokensText(tokens)}${prompt}: ${rangesText(shown.map((item) => item.position).toSorted((a, b) => a - b))}`,
  ])
  for (const { by, kind: how, messages, tokens: size } of hidden)
    await out.line([`hidden: ${plural(messages, 'message')}, ${tokensText(size)}, ${how} by ${by}`, 'marker'])
  if (abandoned > 0) await out.line([`abandoned: ${plural(abandoned, 'message')}`, 'dim'])
  if (before !== undefined) await writeChanges(out, found, before)
  for (const { kind: what, position: where, detail, isNew } of found.repairs)
    if (isNew) await out.line(['repaired: ', 'warning'], [`${what} at ${where}: ${detail}`])
  for (const { term, hidden: holders, by, inSummary } of found.needed)
    await out.line(
      ['referenced but hidden: ', 'warning'],
      [
        `${term}  in ${rangesText(holders)}, hidden by ${rangesText(by)}${inSummary ? '; a summary names it' : ''}`,
      ],
    )
}

/**
 * Writes that no receipt proves the request, and lists the fields that the log has not recorded, with their approximate size in tokens.
 */
const writeDerived = async (
  out: Output,
  { unrecorded }: NonNullable<Why['derived']>,
  beside: number,
): Promise<void> => {
  await out.line(['derived from the log, not proven by a receipt', 'warning'])
  const size = unrecorded.includes('system') && beside > 0 ? `, about ${tokensText(beside)}` : ''
  if (unrecorded.length > 0) await out.line([`not recorded: ${unrecorded.join(', ')}${size}`, 'warning'])
}

const writeChanges = async (out: Output, found: Why, before: CallName): Promise<void> => {
  const { differences, configuration } = found
  await out.line([`since call ${before}:`])
  if (configuration)
    await out.line([
      `  configuration${configuration.event === undefined ? '' : ` at ${configuration.event}`}: ${configuration.fields.join(', ')}`,
      'marker',
    ])
  // All differences that one event caused are on one line.
  const all = Map.groupBy(
    differences,
    ({ change, because, event }) => `${change} ${because} ${because === 'message' ? '' : event}`,
  )
  for (const group of all.values()) {
    const [{ change, because, event } = { change: 'appeared', because: 'message', event: 0 }] = group
    const tokens = group.reduce((sum, one) => sum + one.tokens, 0)
    const sign = change === 'appeared' ? '+' : '-'
    const places = rangesText(group.map(({ position }) => position).toSorted((a, b) => a - b))
    const reason = because === 'message' ? 'said since' : `${because} at ${event}`
    await out.line(
      [`  ${sign} ${places}`, change === 'appeared' ? 'user' : 'warning'],
      [`  ${tokensText(tokens)}  ${reason}`],
    )
  }
  if (differences.length === 0 && !configuration) await out.line(['  nothing', 'dim'])
}

/** Maximum number of names that are printed; `--json` prints all. */
const mostNames = 20

const writeLosses = async (out: Output, { replies, needed }: LossReport): Promise<void> => {
  const lost = needed.filter(({ inSummary }) => !inSummary)
  const named = needed.length - lost.length
  const examined = `${plural(replies, 'reply', 'replies')} examined`
  await out.line([
    lost.length === 0
      ? `nothing lost (${examined})`
      : `lost: ${plural(lost.length, 'name')} that a reply used and nothing visible contained (${examined})`,
    'bold',
  ])
  for (const { term, uses, calls, hidden, by } of lost.slice(0, mostNames))
    await out.line(
      [`${String(uses).padStart(5)}  `, 'dim'],
      [`${term}  first in call ${calls[0]}, in ${rangesText(hidden)}, hidden by ${rangesText(by)}`],
    )
  if (lost.length > mostNames)
    await out.line([`       ${lost.length - mostNames} more: --json lists all`, 'dim'])
  if (named > 0)
    await out.line([
      `not lost: ${plural(named, 'name')} that a summary kept of hidden messages: --json lists ${named === 1 ? 'it' : 'them'}`,
      'dim',
    ])
}

const writeStory = async (out: Output, story: MarkerStory): Promise<void> => {
  const { marker, kind, messages, asked, failed, changed, steps, lost, reread, examined } = story
  await out.line([`marker ${marker}: ${plural(messages, 'message')} ${kind}`, 'bold'])
  if (!examined.isAll)
    await out.line([
      `only ${examined.hidden} hidden and ${examined.later} later messages were examined`,
      'warning',
    ])
  const list = async (title: string, count: number, lines: readonly string[]): Promise<void> => {
    if (count === 0) return
    await out.line([`${title}: ${count}`])
    for (const line of lines.slice(0, mostNames)) await out.line([`  ${line}`])
    const rest = lines.length - mostNames
    if (rest > 0) await out.line([`  ${rest} more: --json lists them`, 'dim'])
  }
  await list(
    'asked',
    asked.count,
    asked.items.map(({ position: at, text }) => `${at}  ${text}`),
  )
  await list(
    'failed',
    failed.count,
    failed.items.map(({ position: at, tool, text }) => `${at}  ${tool ?? 'tool'}: ${text}`),
  )
  await list(
    'changed',
    changed.count,
    changed.items.map(
      ({ path, edits, positions }) => `${path}  ${plural(edits, 'edit')}, at ${rangesText(positions)}`,
    ),
  )
  await list('steps', steps.count, [steps.items.map(({ tool, calls }) => `${calls} ${tool}`).join(', ')])
  await list(
    kind === 'condensed' ? 'lost in the summary' : 'lost',
    lost.count,
    lost.items.map(
      ({ term, said, needed }) => `${term}  said at ${rangesText(said)}, needed at ${rangesText(needed)}`,
    ),
  )
  await list(
    'read again',
    reread.count,
    reread.items.map(
      ({ path, read, again }) => `${path}  read at ${rangesText(read)}, again at ${rangesText(again)}`,
    ),
  )
}
