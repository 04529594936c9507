import type { Command } from 'commander'
import { anthropicRequest } from '../../transfer/formats/write-anthropic.ts'
import { palimpsestLines } from '../../transfer/formats/write-palimpsest.ts'
import { logWriter, writableFormats } from '../../transfer/formats/registry.ts'
import type { Conversation } from '../../index.ts'
import { effective } from '../../projections/effective.ts'
import { toError } from '../../result/typed.ts'
import { logOf } from '../conversation.ts'
import { usage } from '../errors.ts'
import { pattern, position } from '../options.ts'
import type { Output } from '../output.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { visibleJson, visibleLines } from '../../transfer/formats/visible.ts'

interface Options {
  readonly format: string
  readonly at?: number
  readonly calls?: boolean
  readonly redact?: RegExp
}
type Write = (session: CommandSession, chat: Conversation, options: Options) => Promise<void>

export const addExport = (program: Command, shell: Shell): void => {
  program
    .command('export <id>')
    .description('write a conversation to standard output')
    .option(
      '--format <format>',
      'palimpsest, anthropic, markdown, html, vcon, prov, or one registered by --import',
      'palimpsest',
    )
    .option('--at <position>', 'html: the conversation as it was then', position)
    .option('--calls', 'html: with the request of every call, as it was sent')
    .option('--redact <pattern>', 'html: make what matches unreadable (a regular expression)', pattern)
    .addHelpText(
      'after',
      `
palimpsest: every event as stored, one per line, those of a fork's parents
            first; import restores the same conversation from it
anthropic:  the body of a Messages API request
markdown:   a document with every message, and with what was hidden and why
html:       the page of \`palimpsest serve\` about this conversation, in a file
            that opens without a server
vcon, prov: for other programs, as IETF drafts and W3C PROV have it; what of
            them is covered: docs/interchange.md

Examples:
  palimpsest export task-42 > task-42.jsonl
  palimpsest export task-42 --format html --redact 'sk-\\w+' > task-42.html
  palimpsest export task-42 --format markdown | less`,
    )
    .action(
      shell.look(async (session, id: string, options: Options) => {
        const { format, at, calls, redact } = options
        const write = await writerOf(format)
        if (!write)
          throw toError(usage(`--format must be one of ${['html', ...writableFormats()].join(', ')}`))
        if (format !== 'html' && (at !== undefined || calls || redact))
          throw toError(usage('--at, --calls and --redact are for --format html'))
        await write(session, session.store.conversation(id), options)
      }),
    )
}

const writerOf = async (format: string): Promise<Write | undefined> => {
  const write = await logWriter(format)
  if (!write) return writers.get(format)
  return async ({ out, isJson }, chat) => {
    const pieces = write(await logOf(chat), chat.id)
    if (isJson) return out.json({ conversation: chat.id, text: [...pieces].join('') })
    for (const piece of pieces) await out.text(out.isTerminal ? visibleLines(piece) : piece)
  }
}

const writers: ReadonlyMap<string, Write> = new Map<string, Write>(
  Object.entries({
    palimpsest: ({ out }, chat) => writeStored(chat, out),
    anthropic: async ({ out, isJson }, chat) =>
      out.json(anthropicRequest(effective(await logOf(chat))), !isJson || out.isTerminal),
    markdown: async ({ out, isJson }, chat) => {
      const { endOf, markdownPieces } = await import('../../server/exports.ts')
      const pieces = markdownPieces(chat, { at: await endOf(chat, undefined) })
      if (isJson) return out.json({ conversation: chat.id, markdown: await joined(pieces) })
      for await (const piece of pieces) await out.text(piece)
    },
    html: async ({ out, isJson, store }, chat, options) => {
      const [{ endOf }, { gather }, { htmlPage }] = await Promise.all([
        import('../../server/exports.ts'),
        import('../../server/html/gather.ts'),
        import('../../server/html/page.ts'),
      ])
      const at = await endOf(chat, options.at)
      const pieces = htmlPage(chat.id, gather(store, chat, { ...options, at }))
      if (!isJson) for await (const piece of pieces) await out.text(piece)
      else await out.json({ conversation: chat.id, html: await joined(pieces) })
    },
  } satisfies Readonly<Record<string, Write>>),
)

const writeStored = async (chat: Conversation, out: Output): Promise<void> => {
  for await (const line of palimpsestLines(chat.stored()))
    await out.text(out.isTerminal ? `${visibleJson(line.trimEnd())}\n` : line)
}

const joined = async (pieces: AsyncIterable<string>): Promise<string> => {
  let all = ''
  for await (const piece of pieces) all += piece
  return all
}
