import type { Item } from '../../projections/effective.ts'
import { messagesOf } from '../../projections/effective.ts'

/** Number of characters of a text that identify it. */
const enough = 80
/** Maximum number of values that are read in a message. */
const most = 10_000

/** Names of fields with the id of a tool call, in a call and in a result. */
const idFields: Readonly<Record<string, string>> = {
  id: 'call',
  tool_use_id: 'result',
  tool_call_id: 'result',
}
const textFields: ReadonlySet<string> = new Set(['text', 'content', 'thinking', 'data'])

/**
 * Finds the events that the messages of a request come from: for each message, the positions of the items that have one of its texts or
 * ids, in the order of the history; none for a message that only the renderer wrote.
 *
 * @param messages messages of a request to any API
 * @param items items that were shown, in order
 */
export const positionsOf = (
  messages: readonly unknown[],
  items: readonly Item[],
): readonly (readonly number[])[] => {
  const places = new Map<string, number[]>()
  for (const [index, item] of items.entries())
    for (const key of keysIn(messagesOf(item))) {
      const known = places.get(key)
      if (!known) places.set(key, [index])
      else if (known.at(-1) !== index) known.push(index)
    }
  let next = 0
  return messages.map((message) => {
    const found = new Set(keysIn(message).flatMap((key) => firstFrom(places.get(key) ?? [], next) ?? []))
    next = Math.max(next, ...found)
    return [...found].toSorted((a, b) => a - b).flatMap((index) => items[index]?.position ?? [])
  })
}

/** Returns the first of ascending numbers that is not less than another. */
const firstFrom = (numbers: readonly number[], least: number): number | undefined => {
  let low = 0
  for (let high = numbers.length; low < high;) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return numbers[low]
}

/** Returns keys of the texts and ids in a message, at any depth. */
const keysIn = (message: unknown): readonly string[] => {
  const keys: string[] = []
  const open: unknown[] = [message]
  for (let read = 0; open.length > 0 && read < most; read++) {
    const value = open.pop()
    if (Array.isArray(value)) for (const one of value) open.push(one)
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value))
        if (typeof inner !== 'string') open.push(inner)
        else if (Object.hasOwn(idFields, name)) keys.push(`${idFields[name]} ${inner}`)
        else if (textFields.has(name) && inner.trim() !== '')
          keys.push(`text ${inner.trim().slice(0, enough)}`)
  }
  return keys
}
