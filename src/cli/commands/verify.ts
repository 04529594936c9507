import type { Command } from 'commander'
import type { Verified } from '../../index.ts'
import type { Session, Shell } from '../shell.ts'
import { type Part, plural } from '../text.ts'

export const addVerify = (program: Command, shell: Shell): void => {
  program
    .command('verify [id]')
    .description('recompute the hash chain and every view; exit code 1 at the first difference')
    .addHelpText('after', '\nWithout an id: every conversation of the store.')
    .action(
      shell.action('existing', async (session, id: string | undefined) => {
        const { store, out, isJson } = session
        const conversations: Verified[] = []
        for (const each of id === undefined ? await idsOf(session) : [id]) {
          const verified = await store.conversation(each).verify()
          conversations.push(verified)
          if (!isJson) await out.line(...verifiedParts(verified))
        }
        const isWhole = conversations.every(({ discrepancy }) => !discrepancy)
        if (!isWhole) process.exitCode = 1
        if (isJson) await out.json({ ok: isWhole, conversations })
      }),
    )
}

const idsOf = async ({ store }: Session): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  return ids
}

const verifiedParts = ({ conversation, events, discrepancy }: Verified): readonly Part[] =>
  discrepancy
    ? [
        ['CHANGED  ', 'warning'],
        [conversation, 'bold'],
        [`  at ${discrepancy.position}, ${discrepancy.kind}: ${discrepancy.message}`],
      ]
    : [
        ['ok       ', 'user'],
        [conversation, 'bold'],
        [`  ${plural(events, 'event')} as written`, 'dim'],
      ]
