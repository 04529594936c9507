import type { Store } from 'palimpsest'

export const idsOf = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of store.conversations()) ids.push(id)
  return ids
}

/** What all conversations of a store show, without what differs from one store to another. */
export const effectiveOf = async (store: Store): Promise<readonly unknown[]> => {
  const all: unknown[] = []
  for await (const { id } of store.conversations())
    all.push(
      (await store.conversation(id).effective()).map((item) => ({
        ...item,
        position: 0,
        ...('messageId' in item && item.messageId.startsWith('own-') && { time: '' }),
        ...('erased' in item && { erased: item.erased !== undefined }),
        salt: '',
        covers: 0,
        // Their digests depend on salts, and their positions on the writes.
        ...('origin' in item && item.origin && { origin: { ...item.origin, context: undefined } }),
      })),
    )
  return all
}

/** Number of replies with a receipt: the requests that the file holds. */
export const receiptsIn = async (store: Store): Promise<number> => {
  let count = 0
  for await (const { event } of store.readAll())
    if (event.type === 'MessageAppended' && event.data.origin?.context) count++
  return count
}
