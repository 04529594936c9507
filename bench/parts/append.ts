import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { growing } from '../growing.ts'
import { messageAt } from '../messages.ts'
import { peer as palimpsest } from '../peers/palimpsest.ts'
import { peer as rawTable } from '../peers/raw.ts'
import { atLeast, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const conversations = 64
/** Of a round: few, and many rounds, as the disk is now faster, now slower. */
const messages = 80

/** Durable appends of 1 KB messages: one at a time beside a table written by hand, and many conversations at once. */
export const append = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const own = await growing(palimpsest(), folder)
  const raw = await growing(rawTable(), folder)
  const many = await manyAtOnce(folder, 4)
  const single = [own, raw].map(({ inRoundsOf }) => inRoundsOf(messages))
  const times = await alternate([...single, many], isQuick ? 20 : 100)
  for (const { close } of [own, raw, many]) await close()
  return {
    title: 'Append: durable, 1 KB messages',
    figures: [
      { what: 'palimpsest, one at a time', figure: duration(timeOf(times, own.name)) },
      { what: 'raw node:sqlite, one at a time', figure: duration(timeOf(times, raw.name)) },
      atLeast('speed beside raw node:sqlite', ratioOf(times, raw.name, own.name), 0.8),
      {
        what: `palimpsest, ${conversations} conversations at once`,
        figure: duration(timeOf(times, many.name)),
      },
      atLeast(`${conversations} at once beside one at a time`, ratioOf(times, own.name, many.name), 3),
    ],
    notes: [
      'Both are durable when an append returns: WAL, synchronous=FULL, BEGIN IMMEDIATE. The raw table has conversation, revision, a UUID and the JSON, unique by conversation and revision.',
    ],
  }
}

/** So many conversations at once, each of which appends one message after the other. */
const manyAtOnce = async (
  folder: string,
  each: number,
): Promise<Contender & { readonly close: () => Promise<void> }> => {
  const store = await openStore(`sqlite:${join(folder, 'many.db')}`)
  const chats = Array.from({ length: conversations }, (_, index) => store.conversation(`bench-${index}`))
  const appendAll = async (chat: (typeof chats)[number]): Promise<void> => {
    for (let index = 0; index < each; index++) await chat.append(messageAt(index))
  }
  return {
    name: 'many at once',
    round: async () => (await timed(() => Promise.all(chats.map(appendAll)))) / (conversations * each),
    close: () => store.close(),
  }
}
