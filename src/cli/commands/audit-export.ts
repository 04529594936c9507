import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { type Evidence, isError } from '../../index.ts'
import type { Session, Shell } from '../shell.ts'
import { plural } from '../text.ts'

interface Options {
  readonly out: string
  readonly calls?: { readonly first: number; readonly last: number }
  readonly redact?: readonly number[]
}

export const addAuditExport = (audit: Command, shell: Shell): void => {
  audit
    .command('export <ids...>')
    .description('write what proves conversations into a folder, with a program to check it')
    .requiredOption('--out <folder>', 'a folder that is new or empty; several go into 1, 2, … in it')
    .option('--calls <first..last>', 'only the requests of these calls (sent --list numbers them)', calls)
    .option('--redact <positions>', 'withhold these events: 12,15', positions)
    .addHelpText(
      'after',
      `
A bundle holds the events to the byte, with those of the conversations that
it was forked from, and every request to a model. README.md in it says how to
check it without palimpsest.

Examples:
  palimpsest audit export task-42 --out evidence
  palimpsest audit export task-42 --redact 12,15 --out for-the-customer`,
    )
    .action(
      shell.action('existing', async (session, ids: readonly string[], options: Options) => {
        const bundles: Written[] = []
        for (const [n, id] of ids.entries()) {
          const folder = ids.length === 1 ? options.out : join(options.out, String(n + 1))
          const evidence = await written(session, id, { ...options, out: folder })
          bundles.push(evidence)
          if (!session.isJson) for (const line of linesOf(evidence)) await session.out.line([line])
        }
        if (session.isJson) await session.out.json({ bundles })
      }),
    )
}

const written = async (
  { store }: Session,
  id: string,
  { out, calls: chosen, redact }: Options,
): Promise<Written> => {
  const ledger = await store.audit.proof(id).catch((error: unknown) => {
    if (isError(error, 'NotSealed') || isError(error, 'LedgerNotFound')) return undefined
    throw error
  })
  const evidence = await store
    .conversation(id)
    .evidence({ folder: out, calls: chosen, withhold: redact, ledger })
  return { folder: out, isSealed: ledger !== undefined, ...evidence }
}

interface Written extends Evidence {
  readonly folder: string
  /** The ledger has the conversation. */
  readonly isSealed: boolean
}

const linesOf = ({
  folder,
  isSealed,
  conversation,
  events,
  requests,
  withheld,
  tainted,
  omitted,
}: Written): readonly string[] => [
  `Wrote ${folder}: ${plural(events, 'event')} and ${plural(requests, 'request')} of ${conversation}`,
  ...(isSealed ? [] : ['  NOT PROVEN: the conversation is in no ledger (palimpsest audit seal)']),
  ...(withheld.length > 0 ? [`  withheld: ${withheld.join(', ')}`] : []),
  ...tainted.map(
    ({ position, of }) =>
      `  WARNING: the summary at ${position} was made of what is withheld (${of.join(', ')}) and may repeat it: look at it, or add ${position} to --redact`,
  ),
  ...Object.entries(Object.groupBy(omitted, ({ why }) => why)).map(
    ([why, calls]) =>
      `  without the requests of the calls ${calls.map(({ call }) => call).join(', ')}: ${reasons[why as keyof typeof reasons]}`,
  ),
]

const reasons: Readonly<Record<Evidence['omitted'][number]['why'], string>> = {
  withheld: 'they show what is withheld',
  'not-chosen': 'they were not asked for',
  differs: 'rebuilt from the log, they are not what was sent (verify --receipts says where)',
  receipt: 'their receipts cannot be used (verify --receipts says why)',
}

const calls = (text: string): Options['calls'] => {
  const [, first, last = first] = /^([1-9]\d{0,8})(?:\.\.([1-9]\d{0,8}))?$/.exec(text) ?? []
  if (first === undefined || Number(last) < Number(first))
    throw new InvalidArgumentError('It must be a call, or FIRST..LAST, such as 3..7.')
  return { first: Number(first), last: Number(last) }
}

const positions = (text: string): readonly number[] => {
  if (!/^\d{1,15}(,\d{1,15})*$/.test(text))
    throw new InvalidArgumentError('It must be positions with commas between them, such as 12,15.')
  return text.split(',').map(Number)
}
