import { type Command, Option } from 'commander'
import type { ConfigureInput, WriteOptions } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { change } from '../conversation.ts'
import { usage } from '../errors.ts'
import { exclusive, jsonFile, jsonText, readGivenText, withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'

const fields = ['system', 'tools', 'model', 'parameters'] as const

interface Options extends WriteOptions {
  readonly model?: string
  readonly system?: string
  readonly systemFile?: string
  readonly tools?: string
  readonly parameters?: ConfigureInput['parameters']
  readonly remove?: readonly (typeof fields)[number][]
}

export const addConfigure = (program: Command, shell: Shell): void => {
  const command = program
    .command('configure <id>')
    .description('record system prompt, tools, model and parameters of later requests')
    .option('--model <model>', 'the model')
    .option('--system <text>', 'the system prompt')
    .addOption(
      exclusive('--system-file <file>', 'file with the system prompt (- reads standard input)', ['system']),
    )
    .option('--tools <file>', 'JSON file with the list of tools, as in the API')
    .option('--parameters <json>', 'all other fields of the request', jsonText)
    .addOption(new Option('--remove <field...>', 'remove these fields').choices(fields))
  withWriteOptions(command)
    .addHelpText(
      'after',
      `
What is not given stays as it is; \`request\` shows the result. Secrets in
parameters are not recorded.

Examples:
  palimpsest configure task-42 --model claude-opus-5-5 --system-file prompt.md
  palimpsest configure task-42 --parameters '{"max_tokens": 8192}'
  palimpsest configure task-42 --remove tools`,
    )
    .hook('preAction', () => {
      const { systemFile, remove = [], ...given } = command.opts<Options>()
      const set = fields.filter(
        (field) => given[field] !== undefined || (field === 'system' && systemFile !== undefined),
      )
      if (set.length + remove.length === 0)
        throw toError(
          usage('give at least one of --model, --system, --system-file, --tools, --parameters and --remove'),
        )
      const both = remove.find((field) => set.includes(field))
      if (both !== undefined) throw toError(usage(`either set ${both} or remove it`))
    })
    .action(
      change(shell, async (chat, options: Options, host) => {
        const { system: text, systemFile: file, tools, remove = [], ...given } = options
        // In the library, configuring may begin a conversation; here the id could be a slip.
        await chat.position()
        const isSystem = text !== undefined || file !== undefined
        return chat.configure({
          ...given,
          ...(isSystem && { system: await readGivenText({ text, file }, 'the system prompt', host) }),
          ...(tools !== undefined && { tools: (await jsonFile(tools)) as ConfigureInput['tools'] }),
          ...Object.fromEntries(remove.map((field) => [field, null])),
        })
      }),
    )
}
