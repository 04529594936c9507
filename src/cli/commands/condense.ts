import { type Command, Option } from 'commander'
import type { EventData } from '../../events/events.ts'
import type { SliceByPositions, SliceByShare, WriteOptions } from '../../index.ts'
import { change } from '../conversation.ts'
import { exclusive, readGivenText, withSelection, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

type Options = (SliceByPositions | SliceByShare) &
  WriteOptions & {
    readonly summary?: string
    readonly summaryFile?: string
    readonly method?: EventData['Condensed']['method']
  }

export const addCondense = (program: Command, shell: Shell): void => {
  const command = program
    .command('condense <id>')
    .description('replace a slice of what the model sees with a summary')
    .option('--summary <text>', 'text of the summary')
    .addOption(
      exclusive('--summary-file <file>', 'file with the summary (default: standard input)', ['summary']),
    )
    .addOption(
      new Option('--method <method>', 'who wrote the summary (default: manual)').choices([
        'model',
        'provider',
        'client',
        'manual',
      ]),
    )
  withWriteOptions(withSelection(command))
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest condense task-42 --summary "The parser was examined." --keep-last 4\n  palimpsest condense task-42 --covers 3..8 --summary-file summary.md',
    )
    .action(
      change(shell, async (chat, { summary: text, summaryFile, ...options }: Options, host) => {
        // Refuse before the user writes a summary. A repeated command has already hidden its slice.
        if (text === undefined && options.commandId === undefined)
          await chat.preview({ type: 'condense', ...options, summary: '(the summary)' })
        const summary = await readGivenText({ text, file: summaryFile }, 'the summary', host)
        return chat.condense({ ...options, summary })
      }),
    )
}
