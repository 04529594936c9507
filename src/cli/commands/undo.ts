import type { Command } from 'commander'
import type { UndoInput } from '../../index.ts'
import { change } from '../conversation.ts'
import { withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

export const addUndo = (program: Command, shell: Shell): void => {
  const command = program
    .command('undo <id>')
    .description('undo the last rewind, condense, truncate, restore or undo')
    .option('--reason <text>', 'reason, stored with the event')
  withWriteOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest undo task-42\n  palimpsest undo task-42 --reason "the summary lost the error"',
    )
    .action(change(shell, (chat, options: UndoInput) => chat.undo(options)))
}
