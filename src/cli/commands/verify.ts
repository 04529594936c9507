import type { Command } from 'commander'
import type { Verified } from '../../index.ts'
import { type Failure, failureOf } from '../errors.ts'
import type { Session, Shell } from '../shell.ts'
import { type Part, plural } from '../text.ts'

/** What verifying a conversation found; `error` where it could not be read at all. */
type Outcome = Verified & { readonly error?: Failure }

export const addVerify = (program: Command, shell: Shell): void => {
  program
    .command('verify [id]')
    .description('recompute the hash chain and every view; exit code 1 where something differs')
    .addHelpText('after', '\nWithout an id: every conversation of the store.')
    .action(
      shell.action('existing', async (session, id: string | undefined) => {
        const { store, out, isJson } = session
        const conversations: Outcome[] = []
        for (const each of id === undefined ? await idsOf(session) : [id]) {
          const verifying = store.conversation(each).verify()
          const outcome = await (id === undefined ? verifying.catch(unreadable(each)) : verifying)
          conversations.push(outcome)
          if (!isJson) await out.line(...outcomeParts(outcome))
        }
        const isWhole = conversations.every(({ discrepancy, error }) => !discrepancy && !error)
        if (!isWhole) process.exitCode = 1
        if (isJson) await out.json({ ok: isWhole, conversations })
      }),
    )
}

/** One bad conversation is no reason to leave the others unverified. */
const unreadable =
  (conversation: string) =>
  (thrown: unknown): Outcome => {
    const { stack: _stack, ...error } = failureOf(thrown)
    return { conversation, events: 0, error }
  }

const idsOf = async ({ store }: Session): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  return ids
}

const outcomeParts = ({ conversation, events, discrepancy, error }: Outcome): readonly Part[] => {
  if (error) return [['UNREADABLE  ', 'warning'], [conversation, 'bold'], [`  ${error.message}`]]
  if (discrepancy)
    return [
      ['CHANGED  ', 'warning'],
      [conversation, 'bold'],
      [`  at ${discrepancy.position}, ${discrepancy.kind}: ${discrepancy.message}`],
    ]
  return [
    ['ok       ', 'user'],
    [conversation, 'bold'],
    [`  ${plural(events, 'event')} as written`, 'dim'],
  ]
}
