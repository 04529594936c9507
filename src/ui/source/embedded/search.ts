import { contentOf, type ConversationEvent, type Log } from '../../../core.ts'
import { statesAt } from './hiding.ts'

/** Characters of an excerpt before and after what was found. */
const around = 60

/** The texts of an event that can be found. */
const textsOf = (event: ConversationEvent): readonly string[] =>
  contentOf(event).flatMap(({ content }) => content.flatMap((block) => stringsIn(block)))

const stringsIn = (value: unknown): readonly string[] => {
  const found: string[] = []
  const open = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') found.push(next)
    else if (typeof next === 'object' && next !== null) open.push(...Object.values(next))
  }
  return found
}

/** What is found in a conversation, newest first, as the server's `search` says it. */
export const found = (log: Log, text: string, most: number, before = Infinity) => {
  const wanted = text.toLowerCase()
  const now = statesAt(log, log.length - 1)
  const items = []
  let position = Math.min(before, log.length) - 1
  for (; position >= 0 && items.length < most; position--) {
    const event = log[position]
    const hit =
      event && wanted !== '' ? textsOf(event).find((one) => one.toLowerCase().includes(wanted)) : undefined
    if (!event || hit === undefined) continue
    const at = hit.toLowerCase().indexOf(wanted)
    const end = at + wanted.length
    const excerpt = {
      before: hit.slice(Math.max(0, at - around), at),
      match: hit.slice(at, end),
      after: hit.slice(end, end + around),
    }
    const shown = { state: 'shown' } as const
    items.push({
      position,
      kind: event.type === 'MessageAppended' ? event.data.role : event.type,
      excerpt,
      now: now.get(position) ?? shown,
    })
  }
  return { items, ...(position >= 0 && { next: String(position + 1) }), indexed: log.length - 1 }
}
