import type { Command } from 'commander'
import { anthropicRequest } from '../../formats/write-anthropic.ts'
import { markdown, markdownParts } from '../../formats/write-markdown.ts'
import { palimpsestLines } from '../../formats/write-palimpsest.ts'
import { ownFormats, writableFormats } from '../../formats/registry.ts'
import type { Conversation } from '../../index.ts'
import { effective } from '../../projections/effective.ts'
import { toError } from '../../result/typed.ts'
import { logOf } from '../conversation.ts'
import { usage } from '../errors.ts'
import type { Output } from '../output.ts'
import type { Session, Shell } from '../shell.ts'
import { visibleJson, visibleLines } from '../../formats/visible.ts'

type Write = (session: Session, chat: Conversation) => Promise<void>

export const addExport = (program: Command, shell: Shell): void => {
  program
    .command('export <id>')
    .description('write a conversation to standard output')
    .option(
      '--format <format>',
      'palimpsest, anthropic, markdown, or one registered by --import',
      'palimpsest',
    )
    .addHelpText(
      'after',
      `
palimpsest: every event as stored, one per line, those of a fork's parents
            first; import restores the same conversation from it
anthropic:  the body of a Messages API request
markdown:   a document with every message, and with what was hidden and why

Examples:
  palimpsest export task-42 > task-42.jsonl
  palimpsest export task-42 --format markdown | less`,
    )
    .action(
      shell.look(async (session, id: string, { format }: { format: string }) => {
        const write = writerOf(format)
        if (!write) throw toError(usage(`--format must be one of ${writableFormats().join(', ')}`))
        await write(session, session.store.conversation(id))
      }),
    )
}

const writerOf = (format: string): Write | undefined => {
  const write = ownFormats().get(format)?.write
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
      const entries = await chat.full({ abandoned: true })
      if (isJson) return out.json({ conversation: chat.id, markdown: markdown(chat.id, entries) })
      let separator = ''
      for (const part of markdownParts(chat.id, entries)) {
        await out.text(separator + part)
        separator = '\n\n'
      }
      await out.text('\n')
    },
  } satisfies Readonly<Record<string, Write>>),
)

const writeStored = async (chat: Conversation, out: Output): Promise<void> => {
  for await (const line of palimpsestLines(chat.stored()))
    await out.text(out.isTerminal ? `${visibleJson(line.trimEnd())}\n` : line)
}
