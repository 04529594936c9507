import { type Command, Option } from 'commander'
import { configurationOf } from '../../projections/effective.ts'
import { render } from '../../core.ts'
import type { Conversation } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { bytesText } from '../../store/diagnosis.ts'
import type { ExportOptions, FormatExporter } from '../../transfer/formats/exporter.ts'
import { sessionFormats } from '../../transfer/formats/plan.ts'
import { clientNamed } from '../../transfer/formats/sessions/clients.ts'
import { exporterOf, writableFormats } from '../../transfer/formats/registry.ts'
import { anthropicRequest } from '../../transfer/formats/write-anthropic.ts'
import { visible, visibleJson, visibleLines } from '../../transfer/formats/visible.ts'
import { unknownChoice, usage } from '../errors.ts'
import { pattern, position, withholdOption } from '../options.ts'
import { type FilePieces, writerOf } from '../output-file.ts'
import { type DisclosureOptions, inspectExport } from '../inspect-export.ts'
import { folderAt, installSession, planSession, reportInstalled, writeLost } from '../client-session.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { plural } from '../text.ts'
import { writeRequestNotes } from '../views/request-notes.ts'

interface Options extends DisclosureOptions {
  readonly calls?: boolean
  readonly out?: string
  readonly install?: true
  readonly cwd?: string
}

export const addExport = (program: Command, shell: Shell): void => {
  program
    .command('export <id>')
    .description('write a conversation to standard output or to a file')
    .option(
      '--format <format>',
      'palimpsest, anthropic, markdown (or md), html, atif, vcon, prov, original, claude-code, codex, pi, opencode, or one registered by --load',
      'palimpsest',
    )
    .option(
      '--out <file>',
      'write to this file, overwriting an existing one; -: to standard output, even on a terminal',
    )
    .addOption(
      new Option(
        '--install',
        'a session of a client: write it where the client looks, and print the command that continues it',
      ).conflicts(['out', 'calls']),
    )
    .option('--cwd <folder>', 'a session of a client: the folder to continue it in (default: this one)')
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
atif, vcon, prov:
            for other programs, in the formats of Harbor, IETF drafts and W3C
            PROV; docs/interchange.md says what they cover
original:   the file from which the conversation was imported, to the byte
claude-code, codex, pi, opencode:
            what the model sees, as a new session of this client; standard error
            lists what is lost. \`palimpsest continue\` also starts the client
The formats palimpsest and html are not printed on a terminal without --out -.
Content that looks like a secret, such as an API key, is refused. Words of
withheld or redacted content that remain elsewhere are named on standard error.

Examples:
  palimpsest export task-42 --out task-42.jsonl
  palimpsest export task-42 --format html --withhold 12,15-18 --out task-42.html
  palimpsest export task-42 --format markdown --redact 'ACME-\\d+' --out t.md
  palimpsest export task-42 --format markdown --at 12 | less
  palimpsest export task-42 --format claude-code --at 12 --install`,
    )
    .action(
      shell.look(async (session, id: string, options: Options) => {
        const { format: given, at, calls, out, install, cwd } = options
        const client = clientNamed(given)
        const format = client?.name ?? (given === 'md' ? 'markdown' : given)
        if (!client && (install || cwd !== undefined))
          throw toError(
            usage(`--${install ? 'install' : 'cwd'} is for --format ${sessionFormats.join(', ')}`),
          )
        const exporter =
          format === 'html'
            ? htmlOf(session, options)
            : format === 'original'
              ? original
              : await exporterOf(format)
        if (!exporter)
          throw toError(unknownChoice('--format', format, ['html', 'original', ...writableFormats()]))
        if (format === 'original' && at !== undefined)
          throw toError(usage('the original file is exported whole: omit --at'))
        if (format !== 'html' && calls) throw toError(usage('--calls is for --format html'))
        if (
          session.out.isTerminal &&
          out === undefined &&
          !install &&
          (exporter.kind === 'lines' || format === 'html' || format === 'original')
        )
          throw toError(
            usage(`an export in the format ${format} is for a file: --out FILE writes it, --out - prints it`),
          )
        const chat = session.store.conversation(id)
        // Fails with the nearest id if the conversation does not exist.
        await chat.position()
        const write = out === undefined || out === '-' ? undefined : await writerOf(session, 'out', out)
        const left = { at, ...(await inspectExport(session, chat, { ...options, format })) }
        const planned =
          client && (await planSession(session, chat, client, { ...left, cwd: await folderAt(cwd) }))
        if (planned && install) return reportInstalled(session, await installSession(session, planned))
        const isCompact = write !== undefined || (session.isJson && !session.out.isTerminal)
        const pieces = planned?.lines ?? exporter.pieces(chat, { ...left, isCompact })
        if (planned) writeLost(session, planned)
        if (write) {
          const bytes = await write(pieces)
          const size = planned
            ? plural(planned.messages, 'message')
            : plural((at ?? (await chat.position())) + 1, 'event')
          if (!session.isJson)
            session.host.stderr.write(
              `wrote ${visible(String(out))}: ${format}, ${size}, ${bytesText(bytes)}\n`,
            )
        } else await print(session, exporter.kind, { conversation: chat.id, format }, pieces)
        if (format === 'anthropic' && !session.isJson) await writeNotes(session, chat, at)
      }),
    )
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

/** Returns the file from which a conversation was imported, to the byte. */
const original = {
  kind: 'bytes' as const,
  pieces: async function* (chat: Conversation): AsyncGenerator<Uint8Array, void> {
    yield* (await chat.original()).pieces
  },
}

/** Prints an export. With `--json`, a document or a text becomes a field of a JSON object; the other kinds are JSON already. */
const print = async (
  { out, isJson }: CommandSession,
  kind: FormatExporter['kind'] | 'bytes',
  { conversation, format }: { readonly conversation: string; readonly format: string },
  pieces: FilePieces,
): Promise<void> => {
  if (isJson && (kind === 'document' || kind === 'text')) {
    let text = ''
    for await (const piece of pieces) text += String(piece)
    return out.json({ conversation, [kind === 'document' ? format : kind]: text })
  }
  const shown = kind !== 'bytes' && (out.isTerminal || kind === 'json') ? shownAs[kind] : undefined
  for await (const piece of pieces) await out.text(shown ? shown(String(piece)) : piece)
}

/** Functions that make an export safe to show on a terminal, by kind of export. */
const shownAs: Readonly<Partial<Record<FormatExporter['kind'], (text: string) => string>>> = {
  lines: visibleJson,
  json: visibleJson,
  text: visibleLines,
}
