import { type Command, Option } from 'commander'
import type { Role } from '../../events/events.ts'
import type { WriteOptions } from '../../index.ts'
import { change } from '../conversation.ts'
import { quoteText } from '../errors.ts'
import {
  type AnswerOptions,
  checkId,
  exclusive,
  newOption,
  readGivenText,
  withAnswer,
  withAnswerFlag,
  withWriteOptions,
} from '../options.ts'
import type { Shell } from '../shell.ts'

interface Options extends Omit<WriteOptions, 'answer'>, AnswerOptions {
  readonly role: Role
  readonly text?: string
  readonly file?: string
  readonly new?: true
}

export const addAppend = (program: Command, shell: Shell): void => {
  const command = program
    .command('append <id>')
    .description('append a message; the first creates the conversation')
    .addOption(
      new Option('--role <role>', 'role of the message; `say` needs none, and says it as the user')
        .choices(['user', 'assistant', 'system'])
        .makeOptionMandatory(),
    )
    .option('--text <text>', 'text of the message')
    .addOption(exclusive('--file <file>', 'file with the text (default: standard input)', ['text']))
    .option(...newOption)
    .allowExcessArguments()
    .hook('preAction', (_, { args }) => {
      const isCut = command.opts()['text'] !== undefined
      if (args.length > 1)
        command.error(
          isCut
            ? `error: ${quoteText}: --text 'two words'`
            : 'error: the text of the message is given with --text',
        )
    })
  withWriteOptions(withAnswer(command))
    .addHelpText(
      'after',
      `
Without --answer, workers leave the message until \`palimpsest answer ID\`.

Examples:
  palimpsest append task-42 --role user --text "Why does the parser fail?"
  git diff | palimpsest append task-42 --role user --answer`,
    )
    .action(
      change(
        shell,
        async (chat, { role, text, file, new: _new, ...options }: Options, host) => {
          const content = await readGivenText({ text, file }, 'the message', host)
          return chat.append({ role, content }, withAnswerFlag(options))
        },
        access,
        ({ new: isNew, after }) => isNew === true || after === -1,
      ),
    )
}

/** Returns `created`, or `existing` if the command names a position to append after, because a new store has no positions. */
const access = (id: string, { after = -1 }: Options): 'existing' | 'created' => {
  checkId(id)
  return after < 0 ? 'created' : 'existing'
}
