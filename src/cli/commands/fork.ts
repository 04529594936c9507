import type { Command } from 'commander'
import type { WriteOptions } from '../../index.ts'
import { positionAt, writeTitle } from '../conversation.ts'
import { position, withEnvelope } from '../options.ts'
import { conversationNamed, type Shell } from '../shell.ts'

interface Options extends Pick<WriteOptions, 'commandId' | 'actor'> {
  readonly at?: number
}

export const addFork = (program: Command, shell: Shell): void => {
  const command = program
    .command('fork <id> <new-id>')
    .description('start a new conversation with the history of this one')
    .option('--at <position>', 'as of this position (default: now)', position)
  withEnvelope(command)
    .addHelpText('after', '\nExample:\n  palimpsest fork task-42 task-42-retry --at 4')
    .action(
      shell.action('existing', async (session, given: string, newId: string, options: Options) => {
        const { store, out, isJson } = session
        // Nothing is written to the source, so any unique beginning of its id will do.
        const id = await conversationNamed(store, given)
        const copy = await store.conversation(id).fork(newId, options)
        const at = (await positionAt(copy, undefined)) - 1
        if (isJson) return out.json({ conversation: newId, from: { conversation: id, position: at } })
        await out.line([newId, 'bold'], [`  forked from ${id} at ${at}`])
        await writeTitle(session, id)
      }),
    )
}
