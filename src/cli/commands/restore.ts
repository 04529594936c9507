import type { Command } from 'commander'
import type { WriteOptions } from '../../index.ts'
import { change } from '../conversation.ts'
import { position, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

interface Options extends WriteOptions {
  readonly marker: number
}

export const addRestore = (program: Command, shell: Shell): void => {
  const command = program
    .command('restore <id>')
    .description('show again what a summary or truncation hid')
    .requiredOption('--marker <position>', 'position of the summary or truncation', position)
  withWriteOptions(command)
    .addHelpText('after', '\nExample:\n  palimpsest restore task-42 --marker 12')
    .action(change(shell, (chat, options: Options) => chat.restore(options)))
}
