import { type Command, Option } from 'commander'
import type { Conversation, RewindInput } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { isOfEvent } from '../../store/errors.ts'
import { visibleLines } from '../../transfer/formats/visible.ts'
import { failureOf, usage } from '../errors.ts'
import { change } from '../conversation.ts'
import { exclusive, position, positionOrStart, several, withWriteOptions } from '../options.ts'
import { previewRewind } from '../rewind-preview.ts'
import type { Shell } from '../shell.ts'

export const addRewind = (program: Command, shell: Shell): void => {
  const look = shell.look(previewRewind)
  const write = change(shell, async (chat, options: RewindInput, { stderr }) => {
    const problem = await unreadable(chat)
    const written = await chat.rewind(options)
    if (problem !== undefined)
      stderr.write(
        visibleLines(`WARNING: the rewind is recorded, but ${chat.id} still cannot be read: ${problem}\n`),
      )
    return written
  })
  const command = program
    .command('rewind <id>')
    .description('go back to an earlier position; what came after is kept as a branch')
    .option(
      '--to <position>',
      'to just after this position, on any branch; -1: to the empty conversation',
      positionOrStart,
    )
    .addOption(exclusive('--before <position>', 'to just before this message', ['to'], position))
    .addOption(
      exclusive('--turns <n>', 'to just before the n-th last turn of the user', ['to', 'before'], several),
    )
    .option('--reason <text>', 'reason, stored with the event')
    .addOption(
      new Option('--dry-run', 'say which events would be abandoned and how the files differ, and do nothing'),
    )
  withWriteOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest rewind task-42 --to 4\n  palimpsest rewind task-42 --turns 1 --reason "try again"',
    )
    .hook('preAction', () => {
      const { to, before, turns } = command.opts<RewindInput>()
      if ([to, before, turns].every((given) => given === undefined))
        throw toError(usage('give exactly one of --to, --before and --turns'))
    })
    .action((id: string, { dryRun, ...options }: RewindInput & { readonly dryRun?: true }) =>
      dryRun ? look(id, options) : write(id, options),
    )
}

/** Returns the message of the error with which the conversation cannot be read; undefined if it can. */
const unreadable = async (chat: Conversation): Promise<string | undefined> => {
  try {
    await chat.effective()
    return undefined
  } catch (thrown) {
    const { _tag, message } = failureOf(thrown)
    return isOfEvent({ _tag }) ? message : undefined
  }
}
