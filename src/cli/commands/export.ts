import { type Command, Option } from 'commander'
import { anthropicRequest } from '../../formats/write-anthropic.ts'
import { markdown, markdownParts } from '../../formats/write-markdown.ts'
import { palimpsestLines } from '../../formats/write-palimpsest.ts'
import type { Conversation } from '../../index.ts'
import { effective } from '../../projections/effective.ts'
import { logOf } from '../conversation.ts'
import type { Output } from '../output.ts'
import type { Session, Shell } from '../shell.ts'
import { visibleJson } from '../../formats/visible.ts'

type ExportFormat = 'palimpsest' | 'anthropic' | 'markdown'

export const addExport = (program: Command, shell: Shell): void => {
  program
    .command('export <id>')
    .description('write a conversation to standard output')
    .addOption(
      new Option('--format <format>', 'how')
        .choices(['palimpsest', 'anthropic', 'markdown'] satisfies readonly ExportFormat[])
        .default('palimpsest'),
    )
    .addHelpText(
      'after',
      `
palimpsest: every event as stored, a line each, those of a fork's parents first;
            import makes the same conversation of it
anthropic:  the body of a Messages API request
markdown:   everything to read, with what was hidden and why

Examples:
  palimpsest export task-42 > task-42.jsonl
  palimpsest export task-42 --format markdown | less`,
    )
    .action(
      shell.look(async (session, id: string, { format }: { format: ExportFormat }) => {
        await writers[format](session, session.store.conversation(id))
      }),
    )
}

const writers: Readonly<Record<ExportFormat, (session: Session, chat: Conversation) => Promise<void>>> = {
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
}

const writeStored = async (chat: Conversation, out: Output): Promise<void> => {
  for await (const line of palimpsestLines(chat.stored()))
    await out.text(out.isTerminal ? `${visibleJson(line.trimEnd())}\n` : line)
}
