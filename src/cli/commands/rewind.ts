import type { Command } from 'commander'
import type { RewindInput } from '../../index.ts'
import { toError } from '../../store/errors.ts'
import { usage } from '../errors.ts'
import { writeWritten } from '../conversation.ts'
import { exclusive, position, positionOrStart, several, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

export const addRewind = (program: Command, shell: Shell): void => {
  const command = program
    .command('rewind <id>')
    .description('go back to an earlier position; what came after is kept as a branch')
    .option(
      '--to <position>',
      'to right after this position, on whatever branch; -1 empties it',
      positionOrStart,
    )
    .addOption(exclusive('--before <position>', 'to right before this message', ['to'], position))
    .addOption(
      exclusive('--turns <n>', 'to right before the n-th last turn of the user', ['to', 'before'], several),
    )
    .option('--reason <text>', 'why, for those who look later')
  withWriteOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest rewind task-42 --to 4\n  palimpsest rewind task-42 --turns 1 --reason "try again"',
    )
    .action(
      shell.action('existing', async (session, id: string, options: RewindInput) => {
        const { to, before, turns } = options
        if ([to, before, turns].every((given) => given === undefined))
          throw toError(usage('say where to rewind: exactly one of --to, --before and --turns'))
        const chat = session.store.conversation(id)
        await writeWritten(session, chat, await chat.rewind(options))
      }),
    )
}
