import type { Command } from 'commander'
import type { LinkToConversation, LinkToRef, NewLink, WriteOptions } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { writeTitle } from '../conversation.ts'
import { usage } from '../errors.ts'
import { position, withEnvelope } from '../options.ts'
import { conversationNamed, type Shell } from '../shell.ts'
import { shortest } from '../short-ids.ts'
import { noteParts } from '../views/notes.ts'

interface Options
  extends Pick<WriteOptions, 'commandId' | 'actor'>, Omit<LinkToConversation, 'conversation'> {
  readonly to?: string
}

export const addLink = (program: Command, shell: Shell): void => {
  const command = program
    .command('link <id>')
    .description('record how the conversation relates to another one')
    .requiredOption('--relation <word>', 'subagent-of, continues, handed-over-from, or your own relation')
    .option('--to <id>', 'the other conversation, in this store or not')
    .option('--ref <text>', 'the other end as text, such as a file or a URL')
    .option('--position <n>', 'a position in the other conversation', position)
    .option('--call <id>', 'the id of a tool call in the other conversation')
  withEnvelope(command)
    .addHelpText(
      'after',
      `
Give --to, --ref or both. A later link with the same relation and the same other
end adds to the earlier one. list shows a linked conversation below the one it
belongs to.

Examples:
  palimpsest link task-42-tests --relation subagent-of --to task-42 --position 6
  palimpsest link task-42 --relation continues --ref notes/monday.md`,
    )
    .action(
      shell.edit(async (session, id: string, given: Options) => {
        const { store, out, isJson, host } = session
        const { relation, to, ref, position: at, call, ...options } = given
        const end =
          endOf(to && (await conversationNamed(store, to, shortest)), ref) ??
          command.error('error: give the other end: --to, --ref, or both')
        const { conversation } = { conversation: undefined, ...end }
        if (conversation === id)
          throw toError(usage(`${id} is the conversation itself: give another one with --to`))
        const input: NewLink = { relation, position: at, call, ...end }
        const link = await store.conversation(id).link(input, options)
        if (conversation !== undefined && !isJson && !(await store.conversation(conversation).exists()))
          host.stderr.write(`note: ${conversation} is not in this store\n`)
        if (isJson) return out.json(link)
        await out.parts(noteParts({ kind: 'link', position: link.at, link }))
        await writeTitle(session, id)
      }),
    )
}

/** Returns the target of a link, or undefined if neither `--to` nor `--ref` is given. */
const endOf = (
  to: string | undefined,
  ref: string | undefined,
): Pick<LinkToConversation, 'conversation' | 'ref'> | Pick<LinkToRef, 'ref'> | undefined => {
  if (to !== undefined) return { conversation: to, ref }
  return ref === undefined ? undefined : { ref }
}
