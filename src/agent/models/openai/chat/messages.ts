import { type Block, isBlock } from '../../../../events/blocks.ts'
import { createListMap } from '../../../../projections/memo.ts'
import type { RenderedMessage } from '../../../../projections/render/renderer.ts'
import { assistantMessages } from './assistant.ts'
import { isMedia, partsOf, textOf, textPart } from './parts.ts'
import { resultsOf } from './results.ts'
import type { ChatForm, ChatMessage, ChatPart, ChatRepairKind, ChatReport } from './types.ts'

/** Deviation, with the index of the rendered message and the block in which it occurred. */
export interface Noted {
  readonly kind: ChatRepairKind
  readonly detail: string
  readonly message: number
  readonly block: Block | undefined
}

/** Chat Completions messages translated from rendered ones, with the deviations. */
interface Translated {
  readonly messages: readonly ChatMessage[]
  readonly notes: readonly Noted[]
}

const translations = createListMap<readonly Block[], Translated>()

export const messagesOf = (rendered: readonly RenderedMessage[], form: ChatForm): Translated => {
  const contents = rendered.map(({ content }) => content)
  const all = translations(contents, (_, index) => translated(rendered, index, form), JSON.stringify(form))
  const messages: ChatMessage[] = []
  const notes: Noted[] = []
  for (const [index, one] of all.entries()) {
    notes.push(...one.notes)
    for (const message of one.messages) {
      const last = messages.at(-1)
      if (form.bridge && isUnbridged(last, message)) {
        messages.push(bridge)
        notes.push({
          kind: 'assistant-added',
          detail: 'between the results of tools and what the user says',
          message: index,
          block: undefined,
        })
      }
      // User messages may follow each other, because a message between them may have no counterpart in this API.
      if (message.role === 'user' && last?.role === 'user') {
        messages[messages.length - 1] = joined(last, message)
        notes.push({
          kind: 'roles-merged',
          detail: 'joined to the user message before',
          message: index,
          block: undefined,
        })
      } else messages.push(message)
    }
  }
  return { messages, notes }
}

/** Assistant message to insert between tool results and the user's text. It claims nothing on behalf of the model, which was not called. */
const bridge: ChatMessage = { role: 'assistant', content: 'OK.' }

/**
 * Reports whether a message that is neither a tool result nor an assistant message directly follows a tool result. Mistral, and
 * templates with alternating roles, refuse such a message.
 */
export const isUnbridged = (last: ChatMessage | undefined, { role }: ChatMessage): boolean =>
  last?.role === 'tool' && role !== 'tool' && role !== 'assistant'

const translated = (rendered: readonly RenderedMessage[], index: number, form: ChatForm): Translated => {
  const notes: Noted[] = []
  const report: ChatReport = (kind, detail, block) => notes.push({ kind, detail, message: index, block })
  const { role, content, output_config: fields } = rendered[index] as RenderedMessage
  if (fields !== undefined) report('field-dropped', 'output_config of a system message', content[0])
  if (role === 'system' && content.length === 0) return { messages: [], notes }
  const calls = (rendered[index - 1]?.content ?? []).filter((block) => isBlock(block, 'tool_use'))
  const messages =
    role === 'assistant'
      ? assistantMessages(content, form, report)
      : role === 'system'
        ? [systemMessage(content, form, report)]
        : userMessages(
            content,
            calls.map(({ id }) => id),
            { form, report },
          )
  return { messages, notes }
}

export const systemMessage = (
  system: string | readonly Block[],
  form: ChatForm,
  report: ChatReport,
): ChatMessage => ({
  role: form.system ?? 'system',
  content:
    typeof system === 'string' ? system : textOf(system.flatMap((block) => partsOf(block, form, report))),
})

const userMessages = (
  content: readonly Block[],
  calls: readonly string[],
  how: { readonly form: ChatForm; readonly report: ChatReport },
): readonly ChatMessage[] => {
  const { messages, media } = resultsOf(
    content.filter((block) => isBlock(block, 'tool_result')),
    calls,
    how,
  )
  const said = content
    .filter((block) => !isBlock(block, 'tool_result'))
    .flatMap((block) => partsOf(block, how.form, how.report))
  const parts = [...media, ...said]
  return parts.length > 0 ? [...messages, { role: 'user', content: contentOf(parts) }] : messages
}

/** Returns the parts as a string if they are all text, because all endpoints accept strings, but not all accept lists. */
const contentOf = (parts: readonly ChatPart[]): string | readonly ChatPart[] =>
  parts.some(isMedia) ? parts : textOf(parts)

const joined = (one: ChatMessage, other: ChatMessage): ChatMessage => ({
  role: 'user',
  content: contentOf([...partsIn(one), ...partsIn(other)]),
})

const partsIn = ({ content }: ChatMessage): readonly ChatPart[] =>
  typeof content === 'string' ? [textPart(content)] : (content ?? [])
