import type { Command } from 'commander'
import { positionOrStart } from '../options.ts'
import type { Shell } from '../shell.ts'
import { diffLines } from '../views/diff.ts'

interface Options {
  readonly from: number
  readonly to?: number
}

export const addDiff = (program: Command, shell: Shell): void => {
  program
    .command('diff <id>')
    .description('compare what the model sees at two positions')
    .requiredOption('--from <position>', 'the first position', positionOrStart)
    .option('--to <position>', 'the second position (default: now)', positionOrStart)
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest diff task-42 --from 11 --to 12      what the event at 12 changed\n  palimpsest diff task-42 --from 4',
    )
    .action(
      shell.look(async ({ store, out, isJson }, id: string, options: Options) => {
        const diff = await store.conversation(id).diff(options)
        if (isJson) return out.json({ conversation: id, ...diff })
        await out.aside([`what the model sees of ${id}: ${diff.from} → ${diff.to}`, 'bold'])
        for (const line of diffLines(diff)) await out.parts(line)
      }),
    )
}
