import { type Block, textBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { type AiSdkParts, aiSdkParts } from './ai-sdk-parts.ts'
import type { DocumentFormat } from './format.ts'
import { listActions, planOf, type ListedMessage } from './messages.ts'
import { createImportNotes, type FileEntry, type ImportNotes, stringOf } from './source.ts'

const partTypes = new Set<unknown>([
  'tool-call',
  'tool-result',
  'tool-approval-request',
  'tool-approval-response',
])
const known = new Set(['id', 'role', 'content', 'parts'])
const owned = new Set(['id', 'chatId', 'messages', 'system', 'model'])
const none: readonly string[] = []

const hasType = (part: unknown): part is Fields => isFields(part) && typeof part['type'] === 'string'

/** Reports whether a part of a message of the role system, user, assistant or tool is one of the AI SDK and of no other API. */
const isOwnPart = (part: Fields): boolean =>
  (partTypes.has(part['type']) && (isText(part['toolCallId']) || isText(part['approvalId']))) ||
  (part['type'] === 'reasoning' && isText(part['text'])) ||
  (part['type'] === 'file' && isText(part['mediaType'])) ||
  (part['type'] === 'image' && part['image'] !== undefined)

const isText = (value: unknown): boolean => typeof value === 'string'

/** Format for messages of the AI SDK: those of the user interface, which have parts, and those of the model. */
export const aiSdk: DocumentFormat = {
  name: 'ai-sdk',
  recognises: (messages) =>
    messages.some(
      ({ role, parts, content }) =>
        isText(role) &&
        ((Array.isArray(parts) && parts.some(hasType)) ||
          (Array.isArray(content) && content.filter(hasType).some(isOwnPart))),
    ),
  parse: (draft, notes, shelf) => {
    const { owner, messages } = draft
    for (const field of Object.keys(owner))
      if (!owned.has(field)) notes.leftOut(`field ${field}`, 'a field of the program')
    const parts = aiSdkParts(messages, notes)
    const taken = new Set<string>()
    const listed = messages.flatMap((entry) => listedOf(entry, { parts, notes, taken }))
    const start = listed.findIndex(({ said }) => said.role !== 'system')
    const leading = start < 0 ? listed : listed.slice(0, start)
    for (const { kind } of leading) notes.mapped(`message ${kind}, leading`)
    const texts = [
      ...(stringOf(owner['system']) === undefined ? none : [String(owner['system'])]),
      ...leading.flatMap(({ said: { content } }) => content.map((block) => String(block['text']))),
    ]
    const configuration = {
      ...(texts.length > 0 && { system: texts.join('\n\n') }),
      ...(stringOf(owner['model']) !== undefined && { model: String(owner['model']) }),
    }
    const named = { ...draft, owner: { id: owner['id'] ?? owner['chatId'] } }
    return planOf('ai-sdk', named, listActions(configuration, listed.slice(leading.length), { notes, shelf }))
  },
}

interface Context {
  readonly parts: AiSdkParts
  readonly notes: ImportNotes
  /** Ids of messages so far. */
  readonly taken: Set<string>
}

/** Returns what the model sees of a message: for each step of a reply, a message, and one with its results. */
const listedOf = ({ line, fields }: FileEntry, context: Context): readonly ListedMessage[] => {
  const { notes, taken } = context
  const { role, content, parts: ofUi } = fields
  const kind = String(role)
  for (const field of Object.keys(fields))
    if (!known.has(field)) notes.leftOut(`field ${field}`, 'the model does not see it')
  const id = stringOf(fields['id'])
  const isNamed = Array.isArray(ofUi) && id !== undefined && !taken.has(id)
  if (isNamed) taken.add(id)
  const said = messagesOf(kind, Array.isArray(ofUi) ? ofUi : content, context)
  if (said.length === 0) notes.leftOut(`message ${kind}`, 'the model sees nothing of it')
  let replies = 0
  return said.map((message): ListedMessage => {
    // A reply that grows keeps the names of its steps.
    const isResult = kind === 'assistant' && message.role === 'user'
    const step = isResult ? replies - 1 : replies++
    const ref = `${String(id)}${step === 0 ? '' : `:${step}`}${isResult ? ':results' : ''}`
    return { line, kind, said: message, ...(isNamed && { ref }) }
  })
}

type Said = ListedMessage['said']

/**
 * Returns the messages that a message of the user interface is to a model: for each step of a reply, a message and one with its results.
 * Parts that no model sees are left out.
 */
export const messagesOfUi = ({ role, parts }: Fields): readonly Said[] =>
  messagesOf(String(role), parts, { parts: aiSdkParts([], createImportNotes()) })

const messagesOf = (role: string, content: unknown, { parts }: Pick<Context, 'parts'>): readonly Said[] => {
  const list: readonly unknown[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : Array.isArray(content)
        ? content
        : [content]
  if (role === 'system') {
    const blocks = list.flatMap((part) => parts.blocksOf(part))
    const text = blocks.map((block) => block['text']).join('')
    return text === '' ? [] : [{ role, content: [textBlock(text)] }]
  }
  const said: Said[] = []
  let blocks: Block[] = []
  let results: Block[] = []
  let ranByProvider = false
  const endStep = (): void => {
    if (blocks.length > 0) said.push({ role: role === 'tool' ? 'user' : (role as Role), content: blocks })
    if (results.length > 0) said.push({ role: 'user', content: results })
    blocks = []
    results = []
    ranByProvider = false
  }
  const areAnswered = (): boolean =>
    results.length === blocks.filter(({ type }) => type === 'tool_use').length
  for (const part of list) {
    const found = parts.blocksOf(part)
    const isNext = !found.some(({ type }) => type === 'tool_use' || type === 'tool_result')
    // What the provider ran is answered within the reply, which continues after the results.
    if (isStepStart(part) || (isNext && ranByProvider && areAnswered())) endStep()
    for (const block of found)
      if (role === 'assistant' && block.type === 'tool_result') results.push(block)
      else blocks.push(block)
    ranByProvider ||= results.length > 0 && isRunByProvider(part)
  }
  endStep()
  return said
}

const isStepStart = (part: unknown): boolean => isFields(part) && part['type'] === 'step-start'

/** Reports whether a part of a reply has a result of the provider's own. */
const isRunByProvider = (part: unknown): boolean =>
  isFields(part) && (part['providerExecuted'] === true || part['type'] === 'tool-result')
