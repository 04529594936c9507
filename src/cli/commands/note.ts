import type { Command } from 'commander'
import type { NewNote, WriteOptions } from '../../index.ts'
import { writeTitle } from '../conversation.ts'
import { exclusive, jsonText, withEnvelope } from '../options.ts'
import type { Shell } from '../shell.ts'
import { noteParts } from '../views/notes.ts'

interface Options extends Pick<WriteOptions, 'commandId' | 'actor'> {
  readonly kind: string
  readonly text?: string
  readonly data?: unknown
}

export const addNote = (program: Command, shell: Shell): void => {
  const command = program
    .command('note <id>')
    .description('record a fact beside the conversation, such as its title')
    .requiredOption('--kind <kind>', 'title, or your own kind with a prefix: my-agent/progress')
    .option('--text <text>', 'the note as text')
    .addOption(exclusive('--data <json>', 'the note as JSON', ['text'], jsonText))
  withEnvelope(command)
    .addHelpText(
      'after',
      `
A note has no position and makes no reply stale. The latest note of a kind is
the one recorded last, despite rewinds.

Examples:
  palimpsest note task-42 --kind title --text "Fix the parser"
  palimpsest note task-42 --kind my-agent/progress --data '{"step": 3}'
  palimpsest show task-42 --full --notes`,
    )
    .action(
      shell.edit(async (session, id: string, given: Options) => {
        const { store, out, isJson } = session
        const { kind, text, data = text, ...options } = given
        const input: NewNote = { kind, ...(data !== undefined && { data }) }
        const note = await store.conversation(id).note(input, options)
        if (isJson) return out.json(note)
        await out.parts(noteParts({ kind: 'note', position: note.at, note }))
        await writeTitle(session, id)
      }),
    )
}
