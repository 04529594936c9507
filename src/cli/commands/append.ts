import { type Command, Option } from 'commander'
import type { Role } from '../../events/events.ts'
import type { WriteOptions } from '../../index.ts'
import { writeWritten } from '../conversation.ts'
import { checkId, exclusive, givenText, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

interface Options extends WriteOptions {
  readonly role: Role
  readonly text?: string
  readonly file?: string
}

export const addAppend = (program: Command, shell: Shell): void => {
  const command = program
    .command('append <id>')
    .description('append a message; the first creates the conversation')
    .addOption(
      new Option('--role <role>', 'who says it')
        .choices(['user', 'assistant', 'system'])
        .makeOptionMandatory(),
    )
    .option('--text <text>', 'what is said')
    .addOption(
      exclusive('--file <file>', 'what is said is in this file (default: the standard input)', ['text']),
    )
  withWriteOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest append task-42 --role user --text "Why does the parser fail?"\n  git diff | palimpsest append task-42 --role user',
    )
    .action(
      shell.action(access, async (session, id: string, { role, text, file, ...options }: Options) => {
        const chat = session.store.conversation(id)
        const content = await givenText({ text, file }, 'the message', session.host)
        await writeWritten(session, chat, await chat.append({ role, content }, options))
      }),
    )
}

/** Where there is no store, nothing has a position. */
const access = (id: string, { after = -1 }: Options): 'existing' | 'created' => {
  checkId(id)
  return after < 0 ? 'created' : 'existing'
}
