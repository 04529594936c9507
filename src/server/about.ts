import type { Store } from '../index.ts'

/** Returns the row that the list has of one conversation; undefined until it is indexed. */
export const aboutConversation = async (store: Store, id: string) => {
  const { items } = await store.catalogue.find({ beginning: id, order: 'id', limit: 1 })
  const [found] = items
  if (found?.id !== id) return undefined
  for await (const info of store.conversations({ ids: [id] })) return { ...found, ...info }
  return undefined
}
