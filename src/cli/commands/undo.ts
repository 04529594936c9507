import type { Command } from 'commander'
import type { UndoInput } from '../../index.ts'
import { writeWritten } from '../conversation.ts'
import { withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

export const addUndo = (program: Command, shell: Shell): void => {
  const command = program
    .command('undo <id>')
    .description('undo the last rewind, condense, truncate, restore or undo')
    .option('--reason <text>', 'why, for those who look later')
  withWriteOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest undo task-42\n  palimpsest undo task-42 --reason "the summary lost the error"',
    )
    .action(
      shell.action('existing', async (session, id: string, options: UndoInput) => {
        const chat = session.store.conversation(id)
        await writeWritten(session, chat, await chat.undo(options))
      }),
    )
}
