import type { Container } from '../events/events.ts'
import type { Item } from './effective.ts'

/**
 * Returns the newest container named in items or in the content that they hide; each marker records the container of the items that it
 * hides. Returns undefined if that container was dropped later.
 */
export const containerIn = (items: readonly Item[]): Container | undefined => {
  let newest: Container | undefined
  const dropped = new Map<string, number>()
  for (const item of items) {
    if (item.kind === 'message' && !item.origin) continue
    const found = containerOf(item)
    if (found && found.position > (newest?.position ?? -1)) newest = found
    const left = item.kind === 'message' ? droppedBy(item.origin?.context?.options) : undefined
    if (left !== undefined) dropped.set(left, item.position)
  }
  return newest && (dropped.get(newest.id) ?? -1) < newest.position ? newest : undefined
}

const containerOf = (item: Item): Container | undefined => {
  if (item.kind !== 'message') return item.container
  const container = fieldsOf(item.origin?.message)['container']
  if (container === undefined) return undefined
  const { id, expires_at: end } = fieldsOf(container)
  return typeof id === 'string'
    ? { position: item.position, id, ...(typeof end === 'string' && { expires_at: end }) }
    : undefined
}

/** Returns the id of the container that a reply's request left out although it was the newest. */
const droppedBy = (options: unknown): string | undefined => {
  const container = fieldsOf(options)['container']
  if (container === undefined) return undefined
  const { id, left } = fieldsOf(container)
  return typeof id === 'string' && left !== undefined ? id : undefined
}

const fieldsOf = (value: unknown): { readonly [field: string]: unknown } =>
  typeof value === 'object' && value !== null ? (value as { readonly [field: string]: unknown }) : {}
