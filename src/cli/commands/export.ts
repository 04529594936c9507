import type { Command } from 'commander'
import { configurationOf } from '../../projections/effective.ts'
import { render } from '../../core.ts'
import type { Conversation } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { bytesText } from '../../store/diagnosis.ts'
import type { ExportOptions, FormatExporter } from '../../transfer/formats/exporter.ts'
import { exporterOf, writableFormats } from '../../transfer/formats/registry.ts'
import { anthropicRequest } from '../../transfer/formats/write-anthropic.ts'
import type { RepeatingPlace } from '../../transfer/disclosure/inspect.ts'
import { visible, visibleJson, visibleLines } from '../../transfer/formats/visible.ts'
import { unknownChoice, usage } from '../errors.ts'
import { pattern, position, withholdOption } from '../options.ts'
import { writerOf } from '../output-file.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural, rangesText } from '../text.ts'
import { writeRequestNotes } from '../views/request-notes.ts'

interface Options {
  readonly format: string
  readonly at?: number
  readonly calls?: boolean
  readonly withhold?: readonly number[]
  readonly redact?: RegExp
  readonly force?: true
  readonly out?: string
}

export const addExport = (program: Command, shell: Shell): void => {
  program
    .command('export <id>')
    .description('write a conversation to standard output or to a file')
    .option(
      '--format <format>',
      'palimpsest, anthropic, markdown (or md), html, vcon, prov, or one registered by --load',
      'palimpsest',
    )
    .option(
      '--out <file>',
      'write to this file, overwriting an existing one; -: to standard output, even on a terminal',
    )
    .option('--at <position>', 'the conversation as it was at this position (default: now)', position)
    .option('--calls', 'html: include the request of every call, as it was sent')
    .addOption(withholdOption())
    .option(
      '--redact <pattern>',
      'replace text that matches this regular expression with [redacted]',
      pattern,
    )
    .option('--force', 'export even if the content contains what looks like secrets')
    .addHelpText(
      'after',
      `
palimpsest: every event as stored, one per line, those of a fork's parents
            first; import restores the same conversation from it
anthropic:  the body of a Messages API request; standard error lists the fields
            that the API requires and the log does not have
markdown:   a document with every message, and with what was hidden and why
html:       the page of \`palimpsest serve\` about this conversation, in a file
            that opens without a server
vcon, prov: for other programs, in the formats of IETF drafts and W3C PROV;
            docs/interchange.md says what they cover
The formats palimpsest and html are not printed on a terminal without --out -.
Content that looks like a secret, such as an API key, is refused. Words of
withheld or redacted content that remain elsewhere are named on standard error.

Examples:
  palimpsest export task-42 --out task-42.jsonl
  palimpsest export task-42 --format html --withhold 12,15-18 --out task-42.html
  palimpsest export task-42 --format markdown --redact 'ACME-\\d+' --out t.md
  palimpsest export task-42 --format markdown --at 12 | less`,
    )
    .action(
      shell.look(async (session, id: string, options: Options) => {
        const { format: given, at, calls, out } = options
        const format = given === 'md' ? 'markdown' : given
        const exporter = format === 'html' ? htmlOf(session, options) : await exporterOf(format)
        if (!exporter) throw toError(unknownChoice('--format', format, ['html', ...writableFormats()]))
        if (format !== 'html' && calls) throw toError(usage('--calls is for --format html'))
        if (session.out.isTerminal && out === undefined && (exporter.kind === 'lines' || format === 'html'))
          throw toError(
            usage(`an export in the format ${format} is for a file: --out FILE writes it, --out - prints it`),
          )
        const chat = session.store.conversation(id)
        // Fails with the nearest id if the conversation does not exist.
        await chat.position()
        const write = out === undefined || out === '-' ? undefined : await writerOf(session, 'out', out)
        const left = { at, ...(await prepared(session, chat, options)) }
        const isCompact = session.isJson && !session.out.isTerminal
        if (write) {
          const bytes = await write(exporter.pieces(chat, { ...left, isCompact: true }))
          const events = (at ?? (await chat.position())) + 1
          if (!session.isJson)
            session.host.stderr.write(
              `wrote ${visible(String(out))}: ${format}, ${plural(events, 'event')}, ${bytesText(bytes)}\n`,
            )
        } else
          await print(
            session,
            exporter.kind,
            { conversation: chat.id, format },
            exporter.pieces(chat, { ...left, isCompact }),
          )
        if (format === 'anthropic' && !session.isJson) await writeNotes(session, chat, at)
      }),
    )
}

/** Note for a pattern that redacts nothing, probably by mistake. */
export const nothingMatched = 'nothing matched, so nothing is redacted; patterns are case-sensitive'

/** Looks through the export, warns of words of what it leaves out, and returns the options that leave it out. */
const prepared = async (
  { store, host: { stderr } }: CommandSession,
  chat: Conversation,
  { format, at, withhold, redact, force }: Options,
): Promise<Pick<ExportOptions, 'redact' | 'withheld'>> => {
  const [{ endOf, refuseShared, titleOf }, { prepareExport, placeText }, { patternRedactor }] =
    await Promise.all([
      import('../../server/exports.ts'),
      import('../../transfer/disclosure/prepare.ts'),
      import('../../transfer/disclosure/redact.ts'),
    ])
  const end = await endOf(chat, at)
  if (format === 'palimpsest' && at !== undefined) await refuseShared(chat, at)
  const title = format === 'html' ? await titleOf(store, chat.id) : undefined
  const wishes = { format, at: end, isWhole: at === undefined, withhold, redact, force, title }
  const { withheld, repeated, redacted } = await prepareExport(chat, wishes)
  if (redact && redacted === 0) stderr.write(`note: --redact: ${nothingMatched}\n`)
  for (const line of warningsOf(repeated, placeText)) stderr.write(`${line}\n`)
  return { withheld, ...(redact && { redact: patternRedactor(redact) }) }
}

/** Maximum number of repeated texts that are described. */
const mostDescribed = 5

/** Warns of places that repeat words of what is left out: first all events that may be withheld too, then what they repeat. */
const warningsOf = (
  repeated: readonly RepeatingPlace[],
  placeText: (place: RepeatingPlace['place']) => string,
): readonly string[] => {
  if (repeated.length === 0) return []
  const positions = repeated.flatMap(({ place }) => (place.kind === 'event' ? (place.position ?? []) : []))
  const texts = [...Map.groupBy(repeated, ({ of, excerpt }) => `${rangesText(of)}: ${excerpt}`)]
  const events = [...new Set(positions)].toSorted((one, other) => one - other)
  return [
    `WARNING: ${plural(repeated.length, 'place')} ${repeated.length === 1 ? 'repeats' : 'repeat'} words that are left out${
      events.length > 0
        ? `: look at them, or withhold them too: --withhold ${rangesText(events).replaceAll(' ', '')}`
        : ''
    }`,
    ...texts.slice(0, mostDescribed).map(([text, places]) => {
      const [first = '', ...more] = places.map(({ place }) => placeText(place))
      return `  ${first}${more.length > 0 ? ` and ${plural(more.length, 'other')}` : ''}: words left out at ${text}`
    }),
    ...(texts.length > mostDescribed ? [`  and ${texts.length - mostDescribed} more texts`] : []),
  ]
}

const writeNotes = async (
  { host }: CommandSession,
  chat: Conversation,
  at: number | undefined,
): Promise<void> => {
  const now = await chat.context({ at })
  const { betas } = configurationOf(now).parameters ?? {}
  writeRequestNotes(host, anthropicRequest(now), { ...render(now), betas, conversation: chat.id })
}

/** Returns an exporter for the HTML page of a conversation. The modules that build the page are loaded on first use. */
const htmlOf = ({ store }: CommandSession, options: Options) => ({
  kind: 'document' as const,
  pieces: async function* (
    chat: Conversation,
    { withheld }: Pick<ExportOptions, 'withheld'>,
  ): AsyncGenerator<string, void> {
    const [{ endOf }, { gather }, { htmlPage }] = await Promise.all([
      import('../../server/exports.ts'),
      import('../../server/html/gather.ts'),
      import('../../server/html/page.ts'),
    ])
    const at = await endOf(chat, options.at)
    yield* htmlPage(chat.id, gather(store, chat, { ...options, at, withheld }))
  },
})

/** Prints an export. With `--json`, a document or a text becomes a field of a JSON object; the other kinds are JSON already. */
const print = async (
  { out, isJson }: CommandSession,
  kind: FormatExporter['kind'],
  { conversation, format }: { readonly conversation: string; readonly format: string },
  pieces: AsyncIterable<string>,
): Promise<void> => {
  if (isJson && (kind === 'document' || kind === 'text')) {
    let text = ''
    for await (const piece of pieces) text += piece
    return out.json({ conversation, [kind === 'document' ? format : kind]: text })
  }
  const shown = out.isTerminal || kind === 'json' ? shownAs[kind] : undefined
  for await (const piece of pieces) await out.text(shown ? shown(piece) : piece)
}

/** Functions that make an export safe to show on a terminal, by kind of export. */
const shownAs: Readonly<Partial<Record<FormatExporter['kind'], (text: string) => string>>> = {
  lines: visibleJson,
  json: visibleJson,
  text: visibleLines,
}
