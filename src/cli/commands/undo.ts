import type { Command } from 'commander'
import type { UndoInput } from '../../index.ts'
import { asPlaced, eventsIn, writeTitle } from '../conversation.ts'
import { withWriteOptions } from '../options.ts'
import type { Shell } from '../shell.ts'
import { undoParts } from '../views/timeline.ts'

export const addUndo = (program: Command, shell: Shell): void => {
  const command = program
    .command('undo <id>')
    .description('undo the last rewind, condense, truncate, restore or undo')
    .option('--reason <text>', 'reason, stored with the event')
  withWriteOptions(command)
    .addHelpText(
      'after',
      `
The output says what was undone. To redo it, undo once more.

Examples:
  palimpsest undo task-42
  palimpsest undo task-42 --reason "the summary lost the error"`,
    )
    .action(
      shell.edit(async (session, id: string, options: UndoInput) => {
        const { store, out, isJson } = session
        const chat = store.conversation(id)
        const written = await chat.undo(options)
        // An undo always concerns the event just before it.
        const [undone, rewound] = await eventsIn(chat, { from: written.position - 1, to: written.position })
        if (undone === undefined || rewound === undefined) return
        const { position, type } = undone
        if (isJson) return out.json({ ...asPlaced(written), undid: { position, type } })
        await out.parts(undoParts(rewound, undone))
        await writeTitle(session, id)
      }),
    )
}
