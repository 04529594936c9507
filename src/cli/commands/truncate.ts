import type { Command } from 'commander'
import type { TruncateInput } from '../../index.ts'
import { change } from '../conversation.ts'
import { withSelection, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

export const addTruncate = (program: Command, shell: Shell): void => {
  const command = program
    .command('truncate <id>')
    .description('hide a slice from the model; nothing is deleted')
    .option('--reason <text>', 'reason, stored with the event')
  withWriteOptions(withSelection(command))
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest truncate task-42 --fraction 0.5\n  palimpsest truncate task-42 --covers 3..8 --reason "a dead end"',
    )
    .action(change(shell, (chat, options: TruncateInput) => chat.truncate(options)))
}
