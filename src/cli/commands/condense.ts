import { type Command, Option } from 'commander'
import type { EventData } from '../../events/events.ts'
import type { SliceByPositions, SliceByShare, WriteOptions } from '../../index.ts'
import { writeWritten } from '../conversation.ts'
import { exclusive, givenText, withSelection, withWriteOptions } from '../options.ts'
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
    .option('--summary <text>', 'the summary')
    .addOption(
      exclusive('--summary-file <file>', 'the summary is in this file (default: the standard input)', [
        'summary',
      ]),
    )
    .addOption(
      new Option('--method <method>', 'who wrote it (default: manual)').choices([
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
      shell.action(
        'existing',
        async (session, id: string, { summary: text, summaryFile, ...options }: Options) => {
          const chat = session.store.conversation(id)
          const summary = await givenText({ text, file: summaryFile }, 'the summary', session.host)
          await writeWritten(session, chat, await chat.condense({ ...options, summary }))
        },
      ),
    )
}
