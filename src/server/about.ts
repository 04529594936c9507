import type { Store } from '../index.ts'
import { listEntry } from './list-entry.ts'

/** Events that are looked through for the first error. Later ones are found on the page. */
const lookedThrough = 20_000

/** Returns what the list says of one conversation, and the position of its first error. Fields that are not indexed yet are absent. */
export const aboutConversation = async (store: Store, id: string) => {
  const facts = await store.catalogue.about(id)
  const about = { ...facts, title: '', events: facts.last + 1, updated: '' }
  for await (const info of store.conversations({ ids: [id] })) Object.assign(about, listEntry(info))
  if (!facts.errors) return about
  const { failed } = await store.catalogue.outline(id, { from: 0, to: lookedThrough })
  const [firstError] = failed
  return { ...about, ...(firstError !== undefined && { firstError }) }
}
