import type { Command } from 'commander'
import type { Approval, CallDecision, Denial, CallWithdrawal } from '../../index.ts'
import { jsonText } from '../options.ts'
import { toError } from '../../result/typed-error.ts'
import { shortCall, usage, waitingText } from '../errors.ts'
import { actorIn } from '../host.ts'
import { onlyBeginningWith, type Shell } from '../shell.ts'
import { shortest } from '../short-ids.ts'

const byOption = ['--by <name>', 'who decides (default: $USER)'] as const

export const addApprove = (program: Command, shell: Shell): void => {
  program
    .command('approve <id> [call]')
    .usage('[options] <id> <call>')
    .description('approve a waiting tool call')
    .option(...byOption)
    .option('--note <text>', 'reason, stored with the decision')
    .option('--input <json>', "run the tool with this input instead of the model's", jsonText)
    .addHelpText(
      'after',
      `
The call is run by the next turn of the conversation. The first
decision counts. \`palimpsest waiting ID\` lists the calls.

Examples:
  palimpsest approve task-42 toolu_1 --by ann
  palimpsest approve task-42 toolu_1 --input '{"path": "/tmp/copy"}'`,
    )
    .action(deciding<Approval>(shell, 'approved', (chat, call, approval) => chat.approve(call, approval)))
}

export const addDeny = (program: Command, shell: Shell): void => {
  program
    .command('deny <id> [call]')
    .usage('[options] <id> <call>')
    .description('deny a waiting tool call')
    .option(...byOption)
    .option('--reason <text>', 'reason, given to the model')
    .addHelpText(
      'after',
      `
The tool is not run, and the model is told who refused it and why.

Examples:
  palimpsest deny task-42 toolu_1 --by ann
  palimpsest deny task-42 toolu_1 --reason "only on the test server"`,
    )
    .action(deciding<Denial>(shell, 'denied', (chat, call, denial) => chat.deny(call, denial)))
}

export const addWithdraw = (program: Command, shell: Shell): void => {
  program
    .command('withdraw <id> <call>')
    .description('withdraw the approval of a tool call that has not started')
    .option(...byOption)
    .option('--reason <text>', 'reason, stored with the decision')
    .addHelpText(
      'after',
      `
The call waits again. Approval cannot be withdrawn once the tool has started
(NotWithdrawn).

Examples:
  palimpsest withdraw task-42 toolu_1 --by ann
  palimpsest withdraw task-42 toolu_1 --reason "wrong account"`,
    )
    .action(
      deciding<CallWithdrawal>(shell, 'withdrew the approval of', (chat, call, withdrawal) =>
        chat.withdraw(call, withdrawal),
      ),
    )
}

type Chat = ReturnType<Parameters<Parameters<Shell['action']>[1]>[0]['store']['conversation']>

const deciding = <O extends { readonly by: string }>(
  shell: Shell,
  done: string,
  decide: (chat: Chat, call: string, options: O) => Promise<CallDecision>,
) =>
  shell.edit(async ({ store, out, isJson, host }, id: string, given: string | undefined, options: O) => {
    const by = actorIn(host, options.by)
    const chat = store.conversation(id)
    const call = await callNamed(chat, given)
    const decided = await decide(chat, call, { ...options, by })
    if (isJson) return out.json(decided)
    await out.line([`${done} ${call} of ${id}, by ${decided.by}`])
  })

/** Matches the beginning that most ids of calls have: `toolu_`, `call_`. It does not tell them apart. */
const commonPrefix = /^[a-z]+_/i

/**
 * Returns the id of the waiting call whose id alone begins with this text. Returns any other text unchanged, because the error for it
 * lists the calls that wait. Throws `ShortId` if the text is not the whole id and has fewer than `shortest` characters of its own.
 */
const callNamed = async (chat: Chat, text: string | undefined): Promise<string> => {
  const waiting = (await chat.waiting()).map(({ call }) => call)
  if (text === undefined)
    throw toError(
      usage(waiting.length === 0 ? `no call of ${chat.id} waits` : `name the call: ${waitingText(waiting)}`),
    )
  const call = onlyBeginningWith(waiting, text)
  const prefix = commonPrefix.exec(call)?.[0] ?? ''
  if (call !== text && text.length < prefix.length + shortest)
    throw toError(shortCall(text, prefix, shortest, waiting))
  return call
}
