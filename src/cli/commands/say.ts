import { type Command, Option } from 'commander'
import type { CancelOptions, OpenStepInfo, SayOptions } from '../../index.ts'
import {
  type AnswerOptions,
  checkId,
  newOption,
  readGivenText,
  withAnswer,
  withAnswerFlag,
  withEnvelope,
} from '../options.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { actorIn } from '../host.ts'
import { conversationToWrite, missingIfAsked, type Shell } from '../shell.ts'

const policies = ['enqueue', 'interrupt', 'rollback', 'reject'] as const

export const addSay = (program: Command, shell: Shell): void => {
  const command = program
    .command('say <id> [text]')
    .description('append a user message, or queue it while the model is busy (default: standard input)')
    .option('--text <text>', 'text of the message, instead of the argument')
    .addOption(
      new Option('--while-busy <how>', 'what to do while a reply or results are pending')
        .choices(policies)
        .default('enqueue'),
    )
  withEnvelope(withAnswer(command).option(...newOption))
    .addHelpText(
      'after',
      `
While the conversation is waiting for the model or for tool results:
  enqueue    the message waits; the running or the next turn appends it
  interrupt  the message is appended, and the model's call is aborted
  rollback   the turn is rewound, and the message replaces the one that began it
  reject     nothing is written (an error)
Without --answer, workers leave the message until \`palimpsest answer ID\`.

Examples:
  palimpsest say task-42 "And line 60?"
  palimpsest say task-42 "Stop, the other file." --while-busy interrupt
  palimpsest say task-42 "And line 60?" --answer --tenant acme --priority 1`,
    )
    .action(
      shell.action(access, async (session, given, argument, options) => {
        const { store, out, isJson, host } = session
        const { text, new: isNew, ...others } = options
        const content = await readGivenText({ text: text ?? argument }, 'the message', host)
        const id = await conversationToWrite(store, given, isNew)
        const missing = await missingIfAsked(session, options)
        const said = await store.conversation(id).say({ role: 'user', content }, withAnswerFlag(others))
        if (isJson) return out.json(said)
        // A program may compare the line that it reads from a pipe.
        const isBegun = out.isTerminal && said.status === 'recorded' && said.position === 0
        await out.line(
          [
            said.status === 'recorded'
              ? `recorded in ${id}, at position ${said.position}`
              : `queued for ${id}, which awaits the model or results: the running or the next turn appends it`,
          ],
          [isBegun ? ' (a new conversation)' : '', 'dim'],
        )
        if (missing !== undefined) host.stderr.write(`${missing}\n`)
        if (out.isTerminal && !options.answer)
          await out.aside([`workers answer it only if asked: palimpsest answer ${id}`, 'dim'])
      }),
    )
}

interface Options extends Omit<SayOptions, 'answer'>, AnswerOptions {
  readonly text?: string
  readonly new?: true
}

const access = (id: string, argument: string | undefined, { text }: Options): 'created' => {
  checkId(id)
  if (argument !== undefined && text !== undefined)
    throw toError(usage('give the text once: as an argument, or with --text'))
  return 'created'
}

export const addCancel = (program: Command, shell: Shell): void => {
  program
    .command('cancel <id>')
    .description('cancel the current turn of a conversation, in any process')
    .option('--by <name>', 'who cancels it (default: $USER)')
    .option('--reason <text>', 'reason, stored with the event')
    .addHelpText(
      'after',
      `
Completed content is recorded. A turn that begins later is not cancelled.

Examples:
  palimpsest cancel task-42
  palimpsest cancel task-42 --by ann --reason "wrong file"`,
    )
    .action(
      shell.edit(async ({ store, out, isJson, host }, id: string, given: CancelOptions) => {
        const by = actorIn(host, given.by)
        const chat = store.conversation(id)
        await chat.position()
        let found: OpenStepInfo | undefined
        for await (const step of store.steps({ conversations: [id] }))
          if (step.conversation === id) found = step
        await chat.cancel({ ...given, by })
        if (isJson) return out.json({ conversation: id, by, ...given })
        await out.line([cancelledText(id, found)])
      }),
    )
}

/** Says what was cancelled. A step that no worker has in progress stays as it is. */
const cancelledText = (id: string, step: OpenStepInfo | undefined): string => {
  const none = `no worker has a turn of ${id} in progress:`
  switch (step?.state) {
    case 'claimed':
      return `cancelled the current turn of ${id}, claimed by ${step.holder}`
    case 'open':
      return `${none} its step stays open; palimpsest pause ${id} keeps it from workers`
    case 'waiting':
      return `${none} its step still waits; palimpsest waiting ${id} shows for what`
    case 'parked':
      return `${none} its step is parked`
    case undefined:
      return `cancelled the current turn of ${id}, if there was one`
  }
}
