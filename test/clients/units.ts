// What the model sees, as a list of units that is the same in every client's words: texts, calls and results, in order. Thinking and
// reminders are left out: clients add and move reminders, and drop thinking as they like.

/** A unit: who says it or what it is, and its content. */
export type Unit = readonly string[]
type Fields = Readonly<Record<string, unknown>>

const withoutReminders = (text: string): string =>
  text.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '').trim()

const blocksIn = (content: unknown): readonly Fields[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as readonly Fields[])

const textOf = (content: unknown): string =>
  blocksIn(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n')

/** Makes JSON in which the order of fields does not count. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )

const spoken = (role: unknown, text: unknown): readonly Unit[] => {
  const said = withoutReminders(String(text))
  return said === '' ? [] : [[String(role), said]]
}

/** Returns the units of messages in the form of the Messages API. */
export const messageUnits = (messages: readonly Fields[]): readonly Unit[] =>
  messages.flatMap(({ role, content }) => {
    if (role === 'system') return []
    return blocksIn(content).flatMap((block): readonly Unit[] => {
      switch (block['type']) {
        case 'text':
          return spoken(role, block['text'])
        case 'thinking':
        case 'redacted_thinking':
          return []
        case 'tool_use':
          return [['call', String(block['id']), String(block['name']), canonical(block['input'])]]
        case 'tool_result':
          return [['result', String(block['tool_use_id']), withoutReminders(textOf(block['content']))]]
        default:
          return [[String(role), String(block['type'])]]
      }
    })
  })

/** Returns the units of items in the form of the Responses API, without what Codex says about its surroundings. */
export const itemUnits = (items: readonly Fields[]): readonly Unit[] =>
  items.flatMap((item): readonly Unit[] => {
    const { type, role, call_id: id } = item
    if (type === 'message' && role !== 'developer')
      return blocksIn(item['content']).flatMap(({ type: kind, text }) =>
        kind === 'input_image' ? [[String(role), 'image']] : isSurroundings(text) ? [] : spoken(role, text),
      )
    if (type === 'function_call')
      return [['call', String(id), String(item['name']), canonical(JSON.parse(String(item['arguments'])))]]
    if (type === 'function_call_output')
      return [['result', String(id), withoutReminders(textOf(item['output']))]]
    return []
  })

const isSurroundings = (text: unknown): boolean =>
  /^(?:<environment_context>|# AGENTS\.md|<user_instructions>|<permissions)/.test(String(text))
