import type { Command } from 'commander'
import type { WriteOptions } from '../../index.ts'
import { writeWritten } from '../conversation.ts'
import { position, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

interface Options extends WriteOptions {
  readonly marker: number
}

export const addRestore = (program: Command, shell: Shell): void => {
  const command = program
    .command('restore <id>')
    .description('show what a summary or truncation hid again')
    .requiredOption('--marker <position>', 'the summary or truncation to take back', position)
  withWriteOptions(command)
    .addHelpText('after', '\nExample:\n  palimpsest restore task-42 --marker 12')
    .action(
      shell.action('existing', async (session, id: string, options: Options) => {
        const chat = session.store.conversation(id)
        await writeWritten(session, chat, await chat.restore(options))
      }),
    )
}
