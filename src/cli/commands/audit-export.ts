import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Conversation, type Evidence, isError, type WrittenDocument } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { failureOf, usage } from '../errors.ts'
import { actorIn, type Host } from '../host.ts'
import { nothingMatched } from '../inspect-export.ts'
import { commandName, type CommandSession, conversationNamed, type Shell } from '../shell.ts'
import { pattern, positions, withholdOption } from '../options.ts'
import { plural, rangesText, shellWord } from '../text.ts'

const formats = ['bundle', 'vcon', 'prov'] as const

interface Options {
  readonly out: string
  readonly format: (typeof formats)[number]
  readonly calls?: { readonly first: number; readonly last: number }
  readonly withhold?: readonly number[]
  readonly redact?: string | RegExp
  readonly by?: string
  readonly reason?: string
  readonly force?: true
}

export const addAuditExport = (audit: Command, shell: Shell): void => {
  audit
    .command('export <ids...>')
    .description('write an evidence bundle of conversations, with a program to verify it')
    .requiredOption('--out <folder>', 'a new or empty folder; several conversations go into 1, 2, … in it')
    .addOption(
      new Option(
        '--format <format>',
        'bundle, or vcon or prov: a new file for other programs, without proofs',
      )
        .choices(formats)
        .default('bundle'),
    )
    .option(
      '--calls <first..last>',
      'include only the requests of these calls (numbers: request --list)',
      calls,
    )
    .addOption(withholdOption())
    .option(
      '--redact <pattern>',
      'vcon and prov: replace text that matches this regular expression',
      redaction,
    )
    .option(
      '--force',
      'export even if the content contains what looks like secrets, or if the log contradicts the ledger: the bundle will then be BROKEN',
    )
    .option('--by <name>', 'who exports it (default: $USER)')
    .option('--reason <text>', 'reason, recorded with the export')
    .addHelpText(
      'after',
      `
A bundle contains the events byte for byte, including those of the
conversations that it was forked from, and every request to a model. Its
README.md says how to check it without palimpsest. A conversation that differs
from what was sealed, or contains what looks like a secret, is refused.
Before anything is written, the store records who exports what, and why;
palimpsest audit exports lists it. Refused exports are not recorded.

Examples:
  palimpsest audit export task-42 --out evidence --reason "complaint 7"
  palimpsest audit export task-42 --withhold 12,15-18 --out for-the-customer
  palimpsest audit export task-42 --format vcon --out task-42.vcon.json`,
    )
    .action(
      shell.action('existing', async (session, given: readonly string[], wanted: Options) => {
        const options = inPresentWords(session, wanted)
        if (options.calls && options.format !== 'bundle')
          throw toError(usage('--calls is for --format bundle'))
        const ids = await Promise.all(given.map((id) => conversationNamed(session.store, id)))
        for (const id of ids) await session.store.conversation(id).position()
        const all: Written[] = []
        for (const [n, id] of ids.entries()) {
          const out = ids.length === 1 ? options.out : join(options.out, placeOf(n, options.format))
          const done = await written(session, id, { ...options, out })
          all.push(done)
          if (!session.isJson) for (const line of linesOf(done)) await session.out.line([line])
        }
        const folders = all.flatMap((one) => ('folder' in one ? [shellWord(one.folder)] : []))
        if (folders.length > 0 && !session.isJson)
          await session.out.aside([
            `to check: ${commandName(session.host)} audit verify ${folders.join(' ')} --key KEY (the verifier key)`,
            'dim',
          ])
        if (session.isJson)
          await session.out.json({ [options.format === 'bundle' ? 'bundles' : 'documents']: all })
      }),
    )
}

const extensions = { bundle: '', vcon: '.vcon.json', prov: '.jsonld' }
const placeOf = (n: number, format: Options['format']): string => `${n + 1}${extensions[format]}`

const written = async (
  { store, host }: CommandSession,
  id: string,
  { out, format, calls: chosen, withhold, redact, by, reason, force }: PresentOptions,
): Promise<Written> => {
  const chat = store.conversation(id)
  const forced: Forced[] = []
  const checking = { format, withhold, redact }
  // A forced export is looked through here, because it says what was overruled.
  const isChecked = format !== 'bundle' || force === true
  const repeated = await checkContent(host, chat, { ...checking, force: !isChecked }).catch(
    (error: unknown) => {
      if (!force || failureOf(error)._tag !== 'SecretsFound') throw error
      forced.push('secrets')
      return checkContent(host, chat, { ...checking, force })
    },
  )
  const onReady = (): Promise<void> =>
    store.audit.recordExport({
      conversations: [id],
      format,
      by: actorIn(host, by),
      reason,
      withheld: withhold,
      calls: chosen,
    })
  if (format !== 'bundle') {
    const document = await chat.document({ file: out, format, withhold, redact, force: true, onReady })
    return { file: out, ...document, repeated, ...(force && { forced }) }
  }
  const proof = (compare: boolean) =>
    store.audit.proof(id, { compare, entries: true }).catch((error: unknown) => {
      if (isError(error, 'NotSealed') || isError(error, 'LedgerNotFound')) return undefined
      throw error
    })
  const ledger = await proof(true).catch((error: unknown) => {
    if (!force || !isError(error, 'SealContradicted')) throw error
    forced.push('ledger')
    return proof(false)
  })
  const evidence = await chat.evidence({
    folder: out,
    calls: chosen,
    withhold,
    ledger,
    onReady,
    ...(force && { force }),
  })
  if (evidence.broken !== undefined) forced.push('chain')
  const { unsealedEvents } = await import('../../transfer/disclosure/unsealed.ts')
  const unsealed = unsealedEvents(evidence, ledger)
  return { folder: out, isSealed: ledger !== undefined, unsealed, ...evidence, ...(force && { forced }) }
}

/** A reason to refuse an export that `--force` overruled. */
type Forced = 'secrets' | 'ledger' | 'chain'

type Written = { readonly forced?: readonly Forced[] } & (
  | ({ readonly folder: string; readonly isSealed: boolean; readonly unsealed: number } & Evidence)
  | ({ readonly file: string } & WrittenDocument)
)

const overruled = (why: Forced, done: Written): string => {
  if (why === 'secrets') return 'the content has what looks like secrets'
  return why === 'ledger'
    ? 'the conversation contradicts the ledger, so the bundle is BROKEN'
    : `event ${'broken' in done ? done.broken : ''} does not contain the hash of the event before it, so the bundle is BROKEN`
}

const linesOf = (done: Written): readonly string[] => {
  const { conversation, events, withheld, tainted, repeated } = done
  const erased = 'erased' in done ? done.erased : []
  return [
    'file' in done
      ? `Wrote ${done.file}: ${plural(events, 'event')} of ${conversation}`
      : `Wrote ${done.folder}: ${plural(events, 'event')} and ${plural(done.requests, 'request')} of ${conversation}`,
    ...(done.forced ?? []).map((why) => `  FORCED: ${overruled(why, done)}`),
    ...('isSealed' in done ? unproven(done) : []),
    ...(withheld.length > 0 ? [`  withheld: ${withheld.join(', ')}`] : []),
    ...(erased.length > 0 ? [`  of these, erased: ${rangesText(erased)}`] : []),
    ...tainted
      .slice(0, mostDetailed)
      .map(
        ({ position, of }) =>
          `  WARNING: the summary at ${position} was made from withheld events (${of.join(', ')}) and may repeat them: look at it, or add ${position} to --withhold`,
      ),
    ...repeated
      .slice(0, mostDetailed)
      .map(
        ({ position, of, excerpt }) =>
          `  WARNING: ${position} repeats words that are left out at ${rangesText(of)}: ${excerpt}: look at it, or add ${position} to --withhold`,
      ),
    ...(tainted.length > mostDetailed || repeated.length > mostDetailed ? [allDerived(done)] : []),
    ...('omitted' in done ? omissions(done) : []),
  ]
}

/** Number of warnings of each kind that are printed with details. */
const mostDetailed = 5

/** Returns a line that counts the warnings, with a value of `--withhold` that covers all of them. */
const allDerived = ({ withheld, tainted, repeated }: Written): string => {
  const derived = new Set([...tainted, ...repeated].map(({ position }) => position))
  const all = [...new Set([...withheld, ...derived])].toSorted((one, other) => one - other)
  return `  WARNING: ${derived.size} events may repeat what is left out (--json lists all): look at them, or leave them out too: --withhold ${rangesText(all).replaceAll(', ', ',')}`
}

const unproven = ({ isSealed, unsealed }: { readonly isSealed: boolean; readonly unsealed: number }) => {
  if (!isSealed) return ['  NOT PROVEN: the conversation is in no ledger (palimpsest audit seal)']
  const last = unsealed === 1 ? 'last event is' : `last ${unsealed} events are`
  return unsealed > 0
    ? [`  NOT PROVEN: the ${last} not sealed yet: run palimpsest audit seal, and export again`]
    : []
}

const omissions = ({ omitted }: Pick<Evidence, 'omitted'>): readonly string[] =>
  Object.entries(Object.groupBy(omitted, ({ why }) => why)).map(
    ([why, missing]) =>
      `  without the requests of the calls ${rangesText(missing.map(({ call }) => call))}: ${reasons[why as keyof typeof reasons]}`,
  )

const reasons: Readonly<Record<Evidence['omitted'][number]['why'], string>> = {
  withheld: 'they show withheld content',
  'not-chosen': 'they were not requested',
  erased: 'they showed content that was erased',
  differs: 'rebuilt from the log, they differ from the requests sent (verify --receipts says where)',
  receipt: 'their receipts cannot be used (verify --receipts says why)',
}

const calls = (text: string): Options['calls'] => {
  const [, first, last = first] = /^([1-9]\d{0,8})(?:\.\.([1-9]\d{0,8}))?$/.exec(text) ?? []
  if (first === undefined || Number(last) < Number(first))
    throw new InvalidArgumentError('It must be a call, or FIRST..LAST, such as 3..7.')
  return { first: Number(first), last: Number(last) }
}

/** Parses a pattern. Positions are left as they are, because the option took positions before. */
const redaction = (text: string, before?: string | RegExp): string | RegExp => {
  const own = isPositions(text) ? text : pattern(text)
  if (before === undefined) return own
  if (typeof own === 'string' && typeof before === 'string') return `${before},${own}`
  if (typeof own === 'string' || typeof before === 'string')
    throw new InvalidArgumentError('Positions are for --withhold; --redact takes patterns.')
  return pattern(own.source, before)
}

const isPositions = (text: string): boolean => /^\d{1,15}(,\d{1,15})*$/.test(text)

interface PresentOptions extends Omit<Options, 'redact'> {
  readonly redact?: RegExp | undefined
}

/** Reads positions in `--redact` as `--withhold`, and says so on standard error. */
const inPresentWords = (
  { host: { stderr } }: CommandSession,
  { redact, ...options }: Options,
): PresentOptions => {
  if (typeof redact !== 'string') return { ...options, redact }
  stderr.write(
    `note: --redact ${redact} is read as --withhold ${redact}; in the next version it will be a pattern. To redact these digits, write (?:${redact})\n`,
  )
  return { ...options, withhold: positions(redact, options.withhold), redact: undefined }
}

interface ContentOptions extends Pick<PresentOptions, 'format' | 'redact'> {
  readonly withhold: readonly number[] | undefined
  readonly force: boolean
}

/**
 * Looks through the content of an export, and returns the events of a document that repeat words of what it leaves out. Throws
 * `InvalidInput` if a text is to be redacted in a bundle, and `SecretsFound` if there are secrets and `force` is not set.
 */
const checkContent = async (
  { stderr }: Host,
  chat: Conversation,
  { format, withhold = [], redact, force }: ContentOptions,
): Promise<Evidence['repeated']> => {
  const { prepareExport, refuseRedaction, refuseSecretsInBundle } =
    await import('../../transfer/disclosure/prepare.ts')
  const last = await chat.position()
  if (format === 'bundle') {
    const withheld = new Set(withhold)
    if (redact) await refuseRedaction(chat, redact, withheld)
    if (!force) await refuseSecretsInBundle(chat, last, withheld)
    return []
  }
  const wishes = { format, at: last, isWhole: true, withhold, redact, force }
  const { repeated, redacted } = await prepareExport(chat, wishes)
  if (redact && redacted === 0) stderr.write(`note: --redact: ${nothingMatched}\n`)
  return repeated.map(({ place, ...found }) => ({ position: place.position ?? 0, ...found }))
}
