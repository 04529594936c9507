import type { Command } from 'commander'
import { blocksOf } from '../../commands/append.ts'
import type { AwaitedCall, QueuedMessages } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { linesOf, plural, type TextSpan } from '../text.ts'
import { contentParts, firstLine } from '../views/content.ts'
import { labelPart, positionPart } from '../views/items.ts'

export const addWaiting = (program: Command, shell: Shell): void => {
  program
    .command('waiting [id]')
    .description('list the tool calls that wait for an approval or a result')
    .option('--queued', 'list the messages queued while the model was busy instead')
    .addHelpText(
      'after',
      `
Without an id, lists those of every conversation that workers answer, the
longest waiting first; those of a conversation that only a program answers need
its id. \`palimpsest approve ID CALL\` and \`deny ID CALL\` decide.

Examples:
  palimpsest waiting
  palimpsest waiting task-42
  palimpsest waiting task-42 --queued --json`,
    )
    .action(async (id: string | undefined, { queued }: { readonly queued?: true }) => {
      if (id !== undefined) return shell.look(queued ? writeQueued : writeWaiting)(id)
      if (queued)
        throw toError(usage('--queued needs the ID of a conversation: palimpsest list shows the ids'))
      return shell.action('existing', writeAllWaiting)()
    })
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

/** Maximum number of conversations whose waiting calls are listed at once. */
const mostListed = 100

const writeAllWaiting = async ({ store, out, isJson }: CommandSession): Promise<void> => {
  const calls: (AwaitedCall & { readonly conversation: string })[] = []
  let conversations = 0
  for await (const { conversation } of store.steps({ state: 'waiting' }))
    if (++conversations <= mostListed)
      for (const call of await store.conversation(conversation).waiting())
        calls.push({ conversation, ...call })
  const more = Math.max(0, conversations - mostListed)
  if (isJson) return out.json({ calls, moreConversations: more })
  if (calls.length === 0)
    await out.aside([
      'No call is waiting in a conversation that workers answer. Of others: palimpsest waiting ID',
      'dim',
    ])
  for (const { conversation, ...call } of calls)
    await out.parts([[`${conversation}  `, 'bold', 'whole'], ...awaitedParts(call)])
  if (more > 0)
    await out.line([`and in ${plural(more, 'further conversation')}: decide on these first`, 'dim'])
  if (calls.length > 0)
    for (const line of linesOf(
      'palimpsest approve ID CALL and palimpsest deny ID CALL decide on them. Conversations that only programs answer: palimpsest waiting ID',
      out.columns,
    ))
      await out.aside([line, 'dim'])
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
