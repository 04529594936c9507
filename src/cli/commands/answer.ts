import type { Command } from 'commander'
import type { AnswerRequest } from '../../index.ts'
import type { CliError } from '../errors.ts'
import { withEnvelope, withTerms } from '../options.ts'
import { toError } from '../../result/typed-error.ts'
import type { Shell } from '../shell.ts'

export const addAnswer = (program: Command, shell: Shell): void => {
  withEnvelope(
    withTerms(
      program.command('answer <id>').description('ask workers to answer a conversation as it is now'),
    ),
  )
    .addHelpText(
      'after',
      `
For messages appended without --answer, imported sessions and forks. Nothing is
appended: \`palimpsest work\` answers the last message.

Examples:
  palimpsest answer task-42
  palimpsest answer task-42 --tenant acme --priority 1`,
    )
    .action(
      shell.edit(async ({ store, out, isJson }, id: string, options: AnswerRequest) => {
        const chat = store.conversation(id)
        const { awaits } = await chat.render()
        if (awaits !== 'model' && (await chat.queued()).length === 0) throw toError(nothingToAnswer(id))
        await chat.request(options)
        if (isJson) return out.json({ conversation: id })
        await out.line([`workers are asked to answer ${id}`])
      }),
    )
}

const nothingToAnswer = (id: string): CliError => ({
  _tag: 'NothingToAnswer',
  message: `${id} does not await the model: say something first, with --answer`,
  conversation: id,
})
