import type { Command } from 'commander'
import { positionOrStart } from '../options.ts'
import type { Shell } from '../shell.ts'

interface Options {
  readonly at?: number
  readonly systemMessages?: boolean
  readonly prefill?: boolean
  readonly truncationNotes: boolean
}

export const addRender = (program: Command, shell: Shell): void => {
  program
    .command('render <id>')
    .description('print the request for the Messages API, with every repair, as JSON')
    .option('--at <position>', 'at this moment (default: now)', positionOrStart)
    .option('--system-messages', 'the model takes system messages between the others')
    .option('--prefill', 'the last assistant message is one that the model is to go on with')
    .option('--no-truncation-notes', 'do not tell the model where messages are left out')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest render task-42 | jq .repairs\n  palimpsest render task-42 --at 12 > request.json',
    )
    .action(
      shell.look(async ({ store, out, isJson }, id: string, options: Options) => {
        const rendered = await store.conversation(id).render(options)
        await out.json(rendered, !isJson || out.isTerminal)
      }),
    )
}
