import type { NewMessage } from '../../commands/command.ts'
import { type AnyBlock, type Block, isBlock, unknownBlock } from '../../events/blocks.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { stringOf } from './source.ts'

/** The message in which the model saw an attachment, or the reason for leaving the attachment out. */
type Attached =
  | { readonly message: NewMessage; readonly isInferred: boolean }
  | { readonly leftOut: string; readonly isUnknown: boolean }

/** Types of attachments that the client does not send to the model. */
const silent = new Set<unknown>([
  'already_read_file',
  'command_permissions',
  'dynamic_skill',
  'edited_image_file',
  'hook_cancelled',
  'hook_error_during_execution',
  'hook_non_blocking_error',
  'hook_permission_decision',
  'hook_system_message',
  'max_turns_reached',
  // The requests in the file have the system prompt and the tools.
  'prompt_snapshot',
  'structured_output',
])

/** Hooks whose plain output the client sends to the model. */
const heard = new Set<unknown>(['SessionStart', 'UserPromptSubmit'])

/**
 * Returns the message for an attachment. Claude Code creates this message when it sends the attachment. Newer versions record the
 * message (`rendered`); files of older versions contain only its source, without the client's own words around it.
 */
export const attachmentIn = (entry: Fields, attachment: Fields): Attached => {
  const holder = [attachment, entry].find((fields) => fields['rendered'] !== undefined)
  const role = entry['renderedRole'] ?? attachment['renderedRole']
  const content = holder ? contentOf(holder['rendered']) : seenOf(attachment)
  if (content && content.length > 0) {
    const wrapped = holder ? content : content.map(asReminder)
    const message: NewMessage = { role: role === 'system' ? role : 'user', content: wrapped }
    return { message, isInferred: !holder }
  }
  return holder || content || silent.has(attachment['type'])
    ? { leftOut: 'for the client; the model does not see it', isUnknown: false }
    : {
        leftOut: 'the client writes the text when it sends the attachment; the text is not recorded',
        isUnknown: true,
      }
}

const textBlock = (text: string): Block => ({ type: 'text', text })

const asReminder = (block: Block): Block =>
  isBlock(block, 'text') ? textBlock(`<system-reminder>\n${block.text}\n</system-reminder>`) : block

/** Returns the blocks of a recorded text, message, or list of either. */
const contentOf = (rendered: unknown): readonly Block[] =>
  [rendered]
    .flat()
    .flatMap((each) => [fieldIn(fieldIn(each, 'message') ?? each, 'content') ?? each].flat())
    .flatMap((each) => {
      if (isFields(each)) return [unknownBlock(each as AnyBlock)]
      return typeof each === 'string' && each.trim() !== '' ? [textBlock(each)] : []
    })

/**
 * Returns the blocks that the model sees for an attachment recorded by an older version. Returns an empty list if the model sees
 * nothing, and undefined if the blocks are unknown.
 */
const seenOf = (attachment: Fields): readonly Block[] | undefined => {
  const { type, content, filename, hookName } = attachment
  const name = String(hookName)
  switch (type) {
    case 'file':
    case 'directory':
    case 'mcp_resource':
      return fileBlocks(nameOf(attachment), content)
    case 'nested_memory':
      return fileBlocks(nameOf(attachment), isFields(content) ? content['content'] : content)
    case 'selected_lines_in_ide':
      return textOf([`Selected in ${String(filename)}:`, linesIn(content)])
    case 'edited_text_file':
      return textOf([`${String(filename)} was changed:`, linesIn(attachment['snippet'])])
    case 'plan_file_reference':
      return textOf([String(attachment['planFilePath']), linesIn(attachment['planContent'])])
    case 'hook_additional_context':
      return textOf([`${name} hook additional context:`, linesIn(content)])
    case 'hook_success':
      return heard.has(attachment['hookEvent']) ? textOf([`${name} hook success:`, linesIn(content)]) : []
    case 'hook_stopped_continuation':
      return textOf([`${name} hook stopped continuation:`, linesIn(attachment['message'])])
    case 'hook_blocking_error': {
      const { blockingError } = attachment
      return textOf([`${name} hook blocking error:`, linesIn(fieldIn(blockingError, 'blockingError'))])
    }
    case 'async_hook_response': {
      const { response } = attachment
      const context = fieldIn(fieldIn(response, 'hookSpecificOutput'), 'additionalContext')
      return [fieldIn(response, 'systemMessage'), context].flatMap((text) => textOf([linesIn(text)]))
    }
    case 'session_context':
      return isFields(attachment['context']) && Object.keys(attachment['context']).length === 0
        ? []
        : undefined
    case 'skill_listing':
      return textOf(['Skills:', linesIn(content)])
    case 'critical_system_reminder':
      return textOf([linesIn(content)])
    case 'invoked_skills':
      return textsOf(attachment['skills'], 'name', 'content')
    case 'relevant_memories':
      return textsOf(attachment['memories'], 'path', 'content')
    case 'mcp_instructions_delta':
      return changes('MCP servers', attachment['addedBlocks'], attachment['removedNames'])
    case 'deferred_tools_delta':
      return changes('Tools', attachment['addedLines'], attachment['removedNames'])
    case 'agent_listing_delta':
      return changes('Agents', attachment['addedLines'], attachment['removedTypes'])
    case 'diagnostics':
      return diagnosticsIn(attachment['files'])
    default:
      return undefined
  }
}

const nameOf = ({ filename, path, uri }: Fields): string => String(filename ?? path ?? uri)

const fieldIn = (value: unknown, name: string): unknown => (isFields(value) ? value[name] : undefined)

/** Returns a text, or a list of texts joined by newlines; undefined if the result is empty. */
const linesIn = (value: unknown): string | undefined =>
  stringOf(
    [value]
      .flat()
      .filter((text) => typeof text === 'string')
      .join('\n'),
  )

/** Returns one text block with these parts, joined by newlines. Returns no block if the last part, the recorded text, is undefined. */
const textOf = (parts: readonly (string | undefined)[]): readonly Block[] =>
  parts.at(-1) === undefined ? [] : [textBlock(parts.join('\n'))]

const textsOf = (list: unknown, name: string, text: string): readonly Block[] =>
  fieldsIn(list).flatMap((fields) => textOf([String(fields[name]), linesIn(fields[text])]))

const fieldsIn = (list: unknown): readonly Fields[] => (Array.isArray(list) ? list.filter(isFields) : [])

const changes = (what: string, added: unknown, removed: unknown): readonly Block[] => [
  ...textOf([`${what} added:`, linesIn(added)]),
  ...textOf([`${what} removed:`, linesIn(removed)]),
]

/** Returns blocks with a file's name and its text, image, document or cells. */
const fileBlocks = (name: string, content: unknown): readonly Block[] => {
  const file = fieldIn(content, 'file')
  const { base64, type: media, content: text, cells } = isFields(file) ? file : { content }
  const type = fieldIn(content, 'type')
  if (typeof base64 === 'string') {
    const isImage = type === 'image'
    const source = {
      type: 'base64',
      media_type: media ?? (isImage ? 'image/png' : 'application/pdf'),
      data: base64,
    }
    return [textBlock(`${name}:`), unknownBlock({ type: isImage ? 'image' : 'document', source })]
  }
  const contents = fieldsIn(fieldIn(content, 'contents')).map(({ text: part }) => part)
  const found =
    linesIn(text) ?? linesIn(contents) ?? (cells === undefined ? undefined : JSON.stringify(cells))
  return textOf([`${name}:`, found])
}

const diagnosticsIn = (files: unknown): readonly Block[] =>
  fieldsIn(files).flatMap(({ uri, diagnostics }) =>
    textOf([
      `New diagnostics in ${String(uri)}:`,
      linesIn(
        fieldsIn(diagnostics).map(({ severity, message, range }) => {
          const line = fieldIn(fieldIn(range, 'start'), 'line')
          const at = typeof line === 'number' ? `line ${line + 1}: ` : ''
          return `${at}${String(severity)}: ${String(message)}`
        }),
      ),
    ]),
  )
