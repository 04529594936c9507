import type { EventStreamMessage } from './source.ts'

/** Reads an event stream (HTML living standard, section 9.2): give it what comes, in pieces as they come, and it gives the messages that are whole. */
export const eventReader = () => {
  let rest = ''
  let id: string | undefined
  return {
    /** The id of the last message that was whole. */
    lastId: (): string | undefined => id,
    take: (piece: string): readonly EventStreamMessage[] => {
      const texts = (rest + piece).split('\n\n')
      rest = texts.pop() ?? ''
      return texts.flatMap((text) => {
        const fields = fieldsOf(text)
        id = fields.get('id') ?? id
        const data = fields.get('data')
        const event = fields.get('event') ?? 'message'
        return data === undefined ? [] : [{ id: fields.get('id'), event, data: JSON.parse(data) as unknown }]
      })
    },
  }
}

const fieldsOf = (text: string): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return fields
}
