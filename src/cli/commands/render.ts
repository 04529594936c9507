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
    .description('print the Messages API request as JSON, with every repair')
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .option('--system-messages', 'the model accepts system messages inside the conversation')
    .option('--prefill', 'keep a final assistant message for the model to continue')
    .option('--no-truncation-notes', 'do not mark for the model where messages were left out')
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
