import type { Command } from 'commander'
import { blocksOf } from '../../commands/append.ts'
import type { AwaitedCall, QueuedMessages } from '../../index.ts'
import type { CommandSession, Shell } from '../shell.ts'
import type { TextSpan } from '../text.ts'
import { contentParts, firstLine } from '../views/content.ts'
import { labelPart, positionPart } from '../views/items.ts'

export const addWaiting = (program: Command, shell: Shell): void => {
  program
    .command('waiting <id>')
    .description('list the tool calls that wait for an approval or a result')
    .option('--queued', 'list the messages queued while the model was busy instead')
    .addHelpText(
      'after',
      '\nExamples:\n  palimpsest waiting task-42\n  palimpsest waiting task-42 --queued --json',
    )
    .action(
      shell.look((session, id, { queued }: { readonly queued?: true }) =>
        queued ? writeQueued(session, id) : writeWaiting(session, id),
      ),
    )
}

/** Adds the former name of `waiting --queued`. */
export const addQueued = (program: Command, shell: Shell): void => {
  program
    .command('queued <id>', { hidden: true })
    .description('the former name of `waiting --queued`')
    .action(shell.look(writeQueued))
}

const writeWaiting = async ({ store, out, isJson }: CommandSession, id: string): Promise<void> => {
  const chat = store.conversation(id)
  // Fails if the conversation does not exist, because its id was probably mistyped.
  await chat.position()
  const waiting = await chat.waiting()
  if (isJson) return out.json(waiting)
  if (waiting.length === 0) await out.aside(['No call is waiting.', 'dim'])
  for (const call of waiting) await out.parts(awaitedParts(call))
}

const writeQueued = async ({ store, out, isJson }: CommandSession, id: string): Promise<void> => {
  const chat = store.conversation(id)
  await chat.position()
  const queued = await chat.queued()
  if (isJson) return out.json(queued)
  if (queued.length === 0) await out.aside(['No message is queued.', 'dim'])
  for (const { time, messages } of queued) await out.parts([[`${time}  `, 'dim'], ...partsOf(messages)])
}

/** Formats a waiting call as a line: position of the reply, id of the call, tool and input. */
const awaitedParts = ({
  reply,
  call,
  tool,
  input,
  why,
  until,
  started,
}: AwaitedCall): readonly TextSpan[] => [
  positionPart(reply),
  labelPart(why === 'approval' ? 'approve?' : 'result?', 'marker'),
  [`${call}  `, 'assistant', 'whole'],
  [
    `${tool} ${firstLine(JSON.stringify(input))}${until ? `  until ${until}` : ''}${started ? `  started before, ${started}` : ''}`,
  ],
]

const partsOf = (messages: QueuedMessages['messages']): readonly TextSpan[] =>
  contentParts(messages.map(({ role, content }) => ({ role, content: blocksOf(content) })))
