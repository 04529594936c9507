import type { Command } from 'commander'
import { positionAt } from '../conversation.ts'
import { positionOrStart } from '../options.ts'
import type { Shell } from '../shell.ts'
import { itemParts } from '../views/items.ts'

export const addShow = (program: Command, shell: Shell): void => {
  program
    .command('show <id>')
    .description('show the effective history: what the model sees, or saw')
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .addHelpText('after', '\nExamples:\n  palimpsest show task-42\n  palimpsest show task-42 --at 12')
    .action(
      shell.look(async ({ store, out, isJson }, id: string, options: { at?: number }) => {
        const chat = store.conversation(id)
        const at = await positionAt(chat, options.at)
        const items = await chat.effective({ at })
        if (isJson) return out.json({ conversation: id, at, items })
        await out.aside([
          `what the model ${options.at === undefined ? 'sees' : 'saw'} in ${id} at ${at}`,
          'bold',
        ])
        for (const item of items) await out.parts(itemParts(item))
        if (items.length === 0)
          await out.aside(['nothing: the conversation is empty at this position', 'dim'])
      }),
    )
}
