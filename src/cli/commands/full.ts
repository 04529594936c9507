import type { Command } from 'commander'
import { positionAt } from '../conversation.ts'
import { position, positionOrStart, several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { entryParts } from '../views/items.ts'
import { isNote, noteParts } from '../views/notes.ts'

interface Options {
  readonly at?: number
  readonly last?: number
  readonly before?: number
  readonly abandoned?: boolean
  readonly notes?: boolean
}

export const addFull = (program: Command, shell: Shell): void => {
  program
    .command('full <id>')
    .description('show the full history: every message, with its status')
    .option('--at <position>', 'as of this position (default: now)', positionOrStart)
    .option('--last <n>', 'only the newest n entries', several)
    .option('--before <position>', 'only entries before this position (with --last: to page back)', position)
    .option('--abandoned', 'include abandoned branches')
    .option('--notes', 'include notes and links, each below the entry that was the last when it was added')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest full task-42 --abandoned\n  palimpsest full task-42 --last 50\n  palimpsest full task-42 | grep condensed',
    )
    .action(
      shell.look(async ({ store, out, isJson }, id: string, options: Options) => {
        const chat = store.conversation(id)
        const at = await positionAt(chat, options.at)
        const entries = options.notes
          ? await chat.full({ ...options, at, notes: true })
          : await chat.full({ ...options, at })
        if (isJson) return out.json({ conversation: id, at, entries })
        await out.aside([`full history of ${id} at ${at}`, 'bold'])
        for (const entry of entries) await out.parts(isNote(entry) ? noteParts(entry) : entryParts(entry))
      }),
    )
}
