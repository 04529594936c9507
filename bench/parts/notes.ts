import { join } from 'node:path'
import { type Conversation, openStore } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const items = 163
const notes = 1_271
/** Loads of a round. */
const loads = 10

type Between = (chat: Conversation, other: Conversation, n: number) => Promise<unknown>
const text = 'x'.repeat(200)

/** A conversation with something written between its messages. */
const loading = async (
  name: string,
  file: string,
  between: Between,
): Promise<Contender & { readonly close: () => Promise<void> }> => {
  const store = await openStore(file)
  const [chat, other] = [store.conversation('bench'), store.conversation('other')]
  let written = 0
  for (let index = 0; index < items; index++) {
    await chat.append(messageAt(index))
    while (written < ((index + 1) * notes) / items) await between(chat, other, written++)
  }
  return {
    name,
    round: async () => {
      let spent = 0
      for (let load = 0; load < loads; load++) spent += await timed(() => chat.effective())
      return spent / loads
    },
    close: () => store.close(),
  }
}

const nothing: Between = () => Promise.resolve()
const noting: Between = (chat, _, n) => chat.note({ kind: 'bench/progress', data: { n, text } })
const others: Between = (_, other, n) => other.append({ role: 'user', content: `${n} ${text}` })

/** What notes beside a conversation cost those who load it. */
export const besides = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const sqlite = (name: string): string => `sqlite:${join(folder, `${name}.db`)}?synchronous=off`
  const contenders = [
    await loading('alone', sqlite('alone'), nothing),
    await loading('notes', sqlite('notes'), noting),
    await loading('others', sqlite('others'), others),
    await loading('alone in memory', 'memory:', nothing),
    await loading('notes in memory', 'memory:', noting),
  ]
  const times = await alternate(contenders, isQuick ? 20 : 100)
  for (const { close } of contenders) await close()
  return {
    title: `Notes: load ${items} items with ${notes.toLocaleString('en')} notes between them`,
    figures: [
      { what: 'SQLite, without notes', figure: duration(timeOf(times, 'alone')) },
      { what: 'SQLite, with notes', figure: duration(timeOf(times, 'notes')) },
      atMost('SQLite, notes beside another conversation’s events', ratioOf(times, 'notes', 'others'), 1.05),
      atMost(
        'in memory, with notes beside without',
        ratioOf(times, 'notes in memory', 'alone in memory'),
        1.05,
      ),
    ],
    notes: [
      'Notes are in a stream of their own and are not read. In an SQLite file they take up room between the messages, as the events of any other conversation do.',
    ],
  }
}
