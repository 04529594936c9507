import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { type CopyResult, copyConversations } from '../../index.ts'
import { withoutSecrets } from '../../api/secrets.ts'
import { failureOf } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Output } from '../output.ts'
import { asUsage, conversationNamed, openNamedStore, type Shell } from '../shell.ts'
import {
  commandSetting,
  compareRules,
  differingLines,
  mostRules,
  originIn,
  rulesIn,
} from '../store-records.ts'
import { plural, shellWord } from '../text.ts'
import { visibleLines } from '../../transfer/formats/visible.ts'
import { erasedText } from '../views/due-content.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly from: string
  readonly to: string
}

export const addCopy = (program: Command, { surroundings }: Shell): void => {
  program
    .command('copy [id...]')
    .description('copy conversations to another store and verify them there')
    .requiredOption('--from <url>', 'the source store')
    .requiredOption('--to <url>', 'the target store; created if it does not exist')
    .addHelpText(
      'after',
      `
Without an id, every conversation is copied; the parents of a fork are always
included. Positions and events stay the same, to the byte. Running it again adds
only what is new, so an interrupted copy can be resumed, and erases in the
target what was erased in the source. Exit code 1 if a conversation fails.

Examples:
  palimpsest copy --from sqlite:palimpsest.db --to esdb://db.example.org:2113
  palimpsest copy --from 'esdb://127.0.0.1:2113?tls=false' --to sqlite:b.db a b`,
    )
    .action(async (given: readonly string[], options: Options) => {
      if (program.getOptionValueSource('store') === 'cli')
        program.error("error: option '--store <url>' cannot be used with option '--from <url>'")
      if (options.from === options.to && options.from !== 'memory:')
        program.error('error: the source and the target are the same store: name another with --to')
      const { out, isJson, host, fail } = surroundings()
      const ids = given.length > 0 && { ids: await idsIn(options.from, host, given) }
      const copied = await copyAll(out, host, { ...options, ...ids })
      const ledger = await originIn(options.from)
      const isWhole = copied.every(({ error }) => !error)
      if (!isWhole) fail()
      if (isJson) return out.json({ ok: isWhole, ledger, conversations: copied.map(plain) })
      await writeTable(out, headings, copied.map(row), [1, 2])
      // An error of a store, or of a fork's parent, concerns several conversations.
      for (const message of new Set(copied.flatMap(({ error }) => (error ? [error.message] : []))))
        host.stderr.write(`error: ${visibleLines(message)}\n`)
      const { recent = 0 } = copied.find((one) => one.recent !== undefined) ?? {}
      if (recent > 0)
        host.stderr.write(
          `not removed yet: ${plural(recent, 'large content')} stored recently in the target, which no event has any more. Run palimpsest gc --older-than 1min --store ${visibleLines(shellWord(withoutSecrets(options.to)))} in a minute\n`,
        )
      if (ledger !== undefined && (await originIn(options.to).catch(() => undefined)) === undefined)
        host.stderr.write(
          `ledger ${visibleLines(ledger)} is not copied, because it names places in the source: seal the target with a ledger of its own (palimpsest audit init)\n`,
        )
      await writeRules(host, options)
    })
}

/** Says which retention rules the target lacks, or has with another duration, with the commands that set them there. */
const writeRules = async (host: Host, { from, to }: Options): Promise<void> => {
  const [rules, there] = await Promise.all([from, to].map((url) => rulesIn(host, url).catch(() => undefined)))
  // A target that cannot be opened, for example because nothing was copied, has no use for rules.
  if (!rules || !there) return
  const { missing, differing } = compareRules(rules, there)
  const on = ` --store ${shellWord(withoutSecrets(to))}`
  for (const line of differingLines(differing, { from: 'source', to: 'target', on }))
    host.stderr.write(`${visibleLines(line)}\n`)
  if (missing.length === 0) return
  const are = missing.length === 1 ? 'is' : 'are'
  const lines = missing.slice(0, mostRules).map((rule) => `  ${commandSetting(rule)}${on}`)
  host.stderr.write(
    `${plural(missing.length, 'retention rule')} of the source ${are} not copied, because people set them for a store. To set ${missing.length === 1 ? 'it' : 'them'} in the target:\n${visibleLines(lines.join('\n'))}\n`,
  )
  if (missing.length > mostRules) host.stderr.write('  … palimpsest retention lists the others\n')
}

const idsIn = async (url: string, host: Host, given: readonly string[]): Promise<readonly string[]> => {
  const store = await openNamedStore(host, url, 'existing')
  try {
    return await Promise.all(given.map((text) => conversationNamed(store, text)))
  } finally {
    await store.close()
  }
}

/** Copies conversations. On a terminal, a progress bar is shown while events remain to be copied. */
const copyAll = async (
  out: Output,
  host: Host,
  options: Options & { readonly ids?: readonly string[] },
): Promise<readonly CopyResult[]> => {
  const bar = new SingleBar({
    format: 'copied  {bar}  {value}/{total} events',
    clearOnComplete: true,
    stream: host.stderr,
  })
  let isShown = false
  const progress = (done: number, total: number): void => {
    if (!isShown && done < total) bar.start(total, done)
    isShown ||= done < total
    if (isShown) bar.update(done)
  }
  try {
    return await copyConversations({ ...options, ...(out.isTerminal && { progress }) })
  } catch (error) {
    throw asUsage(error)
  } finally {
    bar.stop()
  }
}

const headings = ['conversation', 'events', 'added', 'outcome']

const row = ({ id, events, added, erased, erasedBeside, error }: CopyResult): readonly string[] => [
  id,
  String(events),
  String(added),
  `${error ? 'FAILED' : 'verified'}${erased === undefined ? '' : `; erased: ${erasedText(erased, erasedBeside)}`}`,
]

const plain = ({ error, ...copied }: CopyResult): object =>
  error ? { ...copied, error: failureOf(error) } : copied
