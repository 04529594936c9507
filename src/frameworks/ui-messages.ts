import type { UIMessage } from 'ai'
import { isRole } from '../events/accept.ts'
import { type AnyBlock, type Block, unknownBlock } from '../events/blocks.ts'
import { invalidInput } from '../events/errors.ts'
import { type Fields, isFields } from '../events/json.ts'
import type { NewMessage } from '../events/new-message.ts'
import { toError } from '../result/typed-error.ts'
import { messagesOfUi } from '../transfer/formats/ai-sdk.ts'
import { messageProblem } from '../transfer/formats/source.ts'
import type { HistoryMessage } from './message-history.ts'
import { withoutReferences, withReferences } from './shared-values.ts'

// A message of the user interface is several messages to a model: one for each step of a reply, and one with its results. Their field
// `item` says which message they are, and the last one has what their blocks do not say of it.

/** Field `item` of a step of a message. */
interface StepFields {
  /** Id of the message. */
  readonly id: string
  /** Number of the step, from 0. */
  readonly step: number
  /** Only in the last step: the whole message, with references to the blocks of its steps. */
  readonly message?: unknown
}

/** A message of the user interface, and the messages of the conversation that it is. */
export interface ShownMessage {
  readonly ui: UIMessage
  /** Index of its first message. */
  readonly from: number
  /** Position of the event that shows its last message. */
  readonly position: number
}

/**
 * Converts a message of the user interface to messages that people and models can read. Parts that no model sees, such as data and
 * sources, are only in the field `item`, from which `shownMessages` returns the message unchanged.
 */
export const stepsOf = (ui: UIMessage): readonly NewMessage[] => {
  const { role } = ui
  const found = ui.parts.every(isFields)
    ? messagesOfUi({ role, parts: ui.parts })
    : [{ role, content: [unreadable(ui)] }]
  const said: readonly NewMessage[] = found.length > 0 ? found : [{ role, content: [] }]
  const isStorable = said.every((message) => messageProblem(message) === undefined)
  return asSteps(ui, isStorable ? said : [{ role, content: [unreadable(ui)] }])
}

/** Adds to messages that they are the steps of a message of the user interface. */
const asSteps = (
  ui: UIMessage,
  messages: readonly (NewMessage & { readonly item?: unknown })[],
): readonly NewMessage[] => {
  const contents = messages.map(({ content }) => content)
  return messages.map((message, step) => {
    const isLast = step === messages.length - 1
    const item: StepFields = { id: ui.id, step, ...(isLast && { message: withReferences(ui, contents) }) }
    return { ...message, item: isFields(message.item) ? { ...message.item, ...item } : item }
  })
}

/** Returns the messages of a history as they are recorded again elsewhere, so that they keep the ids that they are shown with. */
export const keptMessages = (
  messages: readonly HistoryMessage[],
  shown: readonly ShownMessage[],
): readonly NewMessage[] =>
  shown.flatMap(({ ui, from }, index) => {
    const steps = messages.slice(from, shown[index + 1]?.from).map(({ message }) => message)
    return stepIn(messages[from])?.id === ui.id ? steps : asSteps(ui, steps)
  })

const unreadable = ({ parts }: UIMessage): Block => unknownBlock({ type: 'ai_sdk_message', parts })

/**
 * Returns the messages of the user interface that a history is: those that were saved as they were, and any other message, such as a
 * summary or what an agent recorded, as a message with texts, reasoning, files and calls.
 */
export const shownMessages = (messages: readonly HistoryMessage[]): readonly ShownMessage[] => {
  const shown: ShownMessage[] = []
  let others = createReader()
  for (let from = 0; from < messages.length;) {
    const saved = savedAt(messages, from)
    if (saved) {
      shown.push(...others.finish(), saved.shown)
      others = createReader()
      from = saved.next
    } else {
      others.add(messages[from] as HistoryMessage, from)
      from += 1
    }
  }
  return [...shown, ...others.finish()]
}

/** Returns the saved message that begins at an index, if all of its steps are there. */
const savedAt = (
  messages: readonly HistoryMessage[],
  from: number,
): { readonly shown: ShownMessage; readonly next: number } | undefined => {
  const id = stepIn(messages[from])?.id
  for (let next = from; ; next += 1) {
    const placed = messages[next]
    const item = stepIn(placed)
    if (!placed || !item || item.id !== id || item.step !== next - from) return undefined
    if (item.message === undefined) continue
    const contents = messages.slice(from, next + 1).map(({ message }) => message.content)
    const ui = withoutReferences(item.message, contents)
    return ui === undefined
      ? undefined
      : { shown: { ui: ui as UIMessage, from, position: placed.position }, next: next + 1 }
  }
}

const stepIn = (placed: HistoryMessage | undefined): StepFields | undefined => {
  const item = placed?.message.item
  return isFields(item) && typeof item['id'] === 'string' && typeof item['step'] === 'number'
    ? (item as unknown as StepFields)
    : undefined
}

/** A message of the user interface that is being made of others. */
interface OpenMessage {
  readonly id: string
  readonly role: string
  readonly parts: Fields[]
  readonly from: number
  position: number
}

/** Collects messages that were not saved here. Results complete the calls of the reply before them, which then continues. */
const createReader = () => {
  const made: OpenMessage[] = []
  let isAnswered = false
  const begin = ({ message, position }: HistoryMessage, from: number): OpenMessage => {
    const part = made.filter((other) => other.position === position).length
    const id = part === 0 ? `position-${position}` : `position-${position}.${part}`
    const begun = { id, role: message.role, parts: [], from, position }
    made.push(begun)
    return begun
  }
  return {
    add: (placed: HistoryMessage, from: number): void => {
      const { role, content } = placed.message
      const last = made.at(-1)
      const isOfResults = content.length > 0 && content.every(({ type }) => type === 'tool_result')
      if (role === 'user' && isOfResults && last?.role === 'assistant') {
        for (const block of content) answer(last.parts, block)
        last.position = placed.position
        isAnswered = true
        return
      }
      const continued = isAnswered && role === 'assistant' ? last : undefined
      isAnswered = false
      const message = continued ?? begin(placed, from)
      message.position = placed.position
      if (role === 'assistant') message.parts.push({ type: 'step-start' })
      for (const block of content) message.parts.push(...partsOf(block))
    },
    finish: (): readonly ShownMessage[] =>
      made.map(({ id, role, parts, from, position }) => ({
        ui: { id, role, parts } as unknown as UIMessage,
        from,
        position,
      })),
  }
}

const partsOf = (block: AnyBlock): readonly Fields[] => {
  const { type, text, thinking, id, name, input } = block
  switch (type) {
    case 'text':
      return [{ type, text }]
    case 'thinking':
      return [{ type: 'reasoning', text: thinking }]
    case 'tool_use':
      return [{ type: 'dynamic-tool', toolName: name, toolCallId: id, state: 'input-available', input }]
    case 'image':
    case 'document':
      return filesOf(block)
    default:
      return []
  }
}

const filesOf = ({ type, source }: AnyBlock): readonly Fields[] => {
  if (!isFields(source)) return []
  const { url, media_type: known, data } = source
  const mediaType =
    typeof known === 'string' ? known : type === 'image' ? 'image' : 'application/octet-stream'
  if (typeof url === 'string') return [{ type: 'file', mediaType, url }]
  return source['type'] === 'base64'
    ? [{ type: 'file', mediaType, url: `data:${mediaType};base64,${String(data)}` }]
    : []
}

/** Adds a result to its call; a result without a call is left out. */
const answer = (parts: Fields[], { tool_use_id: id, content, is_error: isError }: AnyBlock): void => {
  const at = parts.findLastIndex(({ toolCallId }) => toolCallId === id)
  const call = parts[at]
  if (!call) return
  const { state: _, ...rest } = call
  parts[at] =
    isError === true
      ? {
          ...rest,
          state: 'output-error',
          errorText: typeof content === 'string' ? content : JSON.stringify(content),
        }
      : { ...rest, state: 'output-available', output: content ?? null }
}

/** Checks that values are messages of the user interface. Throws `InvalidInput`. */
export const checkUiMessages = (given: unknown): readonly UIMessage[] => {
  const fail = (path: string, problem: string): never => {
    throw toError(invalidInput(path, problem))
  }
  if (!Array.isArray(given)) return fail('messages', 'must be the list of all messages of the chat')
  for (const [index, message] of (given as readonly unknown[]).entries()) {
    const path = `messages[${index}]`
    if (!isFields(message)) return fail(path, 'must be a UIMessage')
    if (typeof message['id'] !== 'string')
      return fail(`${path}.id`, 'must be a string: pass UIMessages, not ModelMessages')
    if (!isRole(message['role'])) return fail(`${path}.role`, 'must be "system", "user" or "assistant"')
    if (!Array.isArray(message['parts']))
      return fail(`${path}.parts`, 'must be a list: pass UIMessages, not ModelMessages')
  }
  return given as readonly UIMessage[]
}
