// Entry point of the translation of rendered requests to OpenAI's Chat Completions API. Each version of it is frozen, as with the
// renderer (docs/adr/0021): receipts are checked with the translation that made their requests.

import { type Effective, messagesOf as messagesIn } from '../../../../projections/effective.ts'
import type { ModelRequest } from '../../model.ts'
import { isUnbridged, messagesOf, type Noted, systemMessage } from './messages.ts'
import { parametersOf } from './parameters.ts'
import { withReasoning } from './reasoning.ts'
import { toolsOf } from './tools.ts'
import type { Chat, ChatForm, ChatReport, ChatRepairKind } from './types.ts'

export { namesIn } from './names.ts'
export type { ReasoningOrigin } from './reasoning.ts'
export type { Chat, ChatMessage } from './types.ts'
export { isUnbridged, withReasoning }

/** Version of the Chat Completions translation for new requests. */
export const currentChat = 1

/** Deviation of a Chat Completions request from the rendered one. */
export interface ChatRepair {
  readonly kind: ChatRepairKind
  /** Position of the event whose content differs, or of the configuration; approximate if the renderer had already changed the block. */
  readonly position: number
  readonly detail: string
}

type Rendered = Pick<ModelRequest, 'system' | 'tools' | 'messages'>

const translated = ({ system, tools = [], messages }: Rendered, form: ChatForm) => {
  const notes: Noted[] = []
  const report: ChatReport = (kind, detail, block) => notes.push({ kind, detail, message: -1, block })
  const said = messagesOf(messages, form)
  const made = toolsOf(tools, report)
  const chat: Chat = {
    messages: system === undefined ? said.messages : [systemMessage(system, form, report), ...said.messages],
    ...(made && { tools: made }),
  }
  return { chat, notes: [...notes, ...said.notes] }
}

/** Returns the body of a Chat Completions request: the fields that a receipt covers, plus the model and the parameters. */
export const chatBody = ({ model, parameters, ...rendered }: ModelRequest, form: ChatForm) => {
  const { chat } = translated(rendered, form)
  return { model, ...parametersOf(parameters, form, chat.tools !== undefined).body, ...chat }
}

/**
 * Translates a rendered request to Chat Completions and lists the deviations.
 *
 * @param effective the history that was rendered, with the configuration in force
 */
export const chatOf = (
  effective: Effective,
  rendered: Rendered,
  form: ChatForm,
  parameters: ModelRequest['parameters'],
): { readonly chat: Chat; readonly repairs: readonly ChatRepair[] } => {
  const { chat, notes } = translated(rendered, form)
  const { dropped } = parametersOf(parameters, form, chat.tools !== undefined)
  const position = effective.layout.configured ?? 0
  return {
    chat,
    repairs: [
      ...dropped.map((name): ChatRepair => ({ kind: 'parameter-dropped', position, detail: name })),
      ...placed(notes, effective, rendered),
    ],
  }
}

const placed = (
  notes: readonly Noted[],
  effective: Effective,
  { messages }: Rendered,
): readonly ChatRepair[] => {
  if (notes.length === 0) return []
  const positions = new Map<object, number>()
  for (const item of effective.items)
    for (const { content } of messagesIn(item))
      for (const block of content) positions.set(block, item.position)
  // A block that the renderer has changed is a new object, whose position is not known. It gets the position of the first known block
  // of its message or, if there is none, of an earlier message.
  let near = 0
  const nearest = messages.map(
    ({ content }) => (near = positions.get(content.find((block) => positions.has(block)) ?? {}) ?? near),
  )
  return notes.map(({ kind, detail, message, block }) => ({
    kind,
    detail,
    position: (block && positions.get(block)) ?? nearest[message] ?? effective.layout.configured ?? 0,
  }))
}
