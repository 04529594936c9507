import type { Command } from 'commander'
import { blocksOf } from '../../commands/append.ts'
import type { AwaitedCall, QueuedMessages } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import type { Output } from '../output.ts'
import type { CommandSession, Shell } from '../shell.ts'
import { linesOf, plural, type TextSpan } from '../text.ts'
import { contentParts, firstLine } from '../views/content.ts'
import { labelPart, positionPart } from '../views/items.ts'
import { writeTable } from '../views/table.ts'

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
its id. In a pipe, each line is the conversation (without an id), the position
of the reply, what the call waits for, its id, tool and input, separated by
tabs. \`palimpsest approve ID CALL\` and \`deny ID CALL\` decide.

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
  for (const call of waiting) await writeCall(out, call)
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
  for (const { conversation, ...call } of calls) await writeCall(out, call, conversation)
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
  if (!out.isTerminal)
    return writeTable(
      out,
      [],
      queued.map(({ time, messages }) => [
        time,
        partsOf(messages)
          .map(([text]) => text)
          .join(''),
      ]),
    )
  for (const { time, messages } of queued) await out.parts([[`${time}  `, 'dim'], ...partsOf(messages)])
}

/** Writes a waiting call as a line: position of the reply, id of the call, tool and input. In a pipe, they are separated by tabs. */
const writeCall = async (
  out: Output,
  { reply, call, tool, input, why, until, started }: AwaitedCall,
  conversation?: string,
): Promise<void> => {
  const label = why === 'approval' ? 'approve?' : 'result?'
  const given = JSON.stringify(input)
  const rest = [
    ...(until === undefined ? [] : [`until ${until}`]),
    ...(started === undefined ? [] : [`started before, ${started}`]),
  ]
  if (!out.isTerminal) {
    const own = conversation === undefined ? [] : [conversation]
    return writeTable(out, [], [[...own, String(reply), label, call, tool, given, ...rest]])
  }
  await out.parts([
    ...(conversation === undefined ? [] : ([[`${conversation}  `, 'bold', 'whole']] as const)),
    positionPart(reply),
    labelPart(label, 'marker'),
    [`${call}  `, 'assistant', 'whole'],
    [[`${tool} ${firstLine(given)}`, ...rest].join('  ')],
  ])
}

const partsOf = (messages: QueuedMessages['messages']): readonly TextSpan[] =>
  contentParts(messages.map(({ role, content }) => ({ role, content: blocksOf(content) })))
