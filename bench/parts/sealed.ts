import { join } from 'node:path'
import { openStore, type Conversation, type Store } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const last = 50

/** Measures what it costs to encrypt content in SQLite. */
export const sealed = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const file = (name: string): string => `sqlite:${join(folder, name)}?synchronous=normal`
  const plain = await openStore(file('plain.db'))
  const withKeys = await openStore(file('sealed.db'), { seal: join(folder, 'keys.db') })
  return besidePlain({ plain, sealed: withKeys }, 'with `synchronous=normal`', isQuick)
}

/**
 * Measures what it costs to encrypt content: appends, and reads of the last messages, in a conversation with keys and in one without.
 * Closes the stores.
 *
 * @param where phrase for the notes
 */
export const besidePlain = async (
  stores: { readonly plain: Store; readonly sealed: Store },
  where: string,
  isQuick: boolean,
): Promise<PartResult> => {
  const [messages, rounds] = isQuick ? [20, 20] : [50, 200]
  const appends = await alternate(
    Object.entries(stores).map(([name, store]) => appending(name, store.conversation(name), messages)),
    rounds,
  )
  const loads = await alternate(
    Object.entries(stores).map(([name, store]) => loading(name, store.conversation(name))),
    rounds,
  )
  for (const store of Object.values(stores)) await store.close()
  return {
    title: 'Encrypted content',
    figures: [
      atMost('append, sealed', ratioOf(appends, 'sealed', 'plain'), 2.5),
      atMost(`load of ${last} messages, sealed`, ratioOf(loads, 'sealed', 'plain'), 1.5),
    ],
    notes: [
      `An append takes ${duration(timeOf(appends, 'plain'))} without keys and ${duration(timeOf(appends, 'sealed'))} with them, and a load ${duration(timeOf(loads, 'plain'))} and ${duration(timeOf(loads, 'sealed'))}: medians of ${count(rounds)} rounds in turn, of ${count(messages)} appends each, ${where}. The process has read the messages before.`,
    ],
  }
}

const appending = (name: string, chat: Conversation, messages: number): Contender => {
  let next = 0
  return {
    name,
    round: async () =>
      (await timed(async () => {
        for (let n = 0; n < messages; n++) await chat.append(messageAt(next++))
      })) / messages,
  }
}

const loading = (name: string, chat: Conversation): Contender => ({
  name,
  round: () =>
    timed(async () => {
      const from = (await chat.position()) - last + 1
      let read = 0
      for await (const event of chat.events({ from })) read += Number(event.position >= from)
      if (read !== last) throw new Error(`read ${read} messages`)
    }),
})
