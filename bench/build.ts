import { openStore } from '../src/index.ts'
import { messageAt } from './messages.ts'

/** How many items the effective history of a built conversation has. */
export const shown = 50
/** How many messages come between two condenses, and how many stay behind one. */
const cycle = 24
const characters = 256

/**
 * Writes a conversation as its user would who condenses whenever 50 items are shown: down to the task, a summary and 24 messages.
 * It ends 24 messages after the last condense, with 50 items.
 *
 * @param events how many events it gets: a multiple of 25, at least 50
 * @param file   the file of the store
 */
export const buildConversation = async (file: string, events: number, id = 'bench'): Promise<void> => {
  const store = await openStore(`sqlite:${file}?synchronous=off`)
  const chat = store.conversation(id)
  const batch = (first: number, size: number) =>
    Array.from({ length: size }, (_, index) => messageAt(first + index, characters))
  await chat.append(batch(0, shown))
  for (let written = shown; written < events; written += cycle + 1) {
    await chat.condense({ summary: messageAt(written, characters).content, keepFirst: 1, keepLast: cycle })
    await chat.append(batch(written + 1, cycle))
  }
  await store.close()
}
