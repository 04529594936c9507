import { type AnyBlock, type Block, isBlock, type KnownBlock } from '../../events/blocks.ts'
import { type Message, otherFieldsOf, readableFields } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { cutToWidth, type TextSpan, plural } from '../text.ts'

const separator: TextSpan = ['  ']
/** Maximum width, in columns, of a text that is followed by calls, so that the calls are visible, too. */
const besideCalls = 56

/** Formats messages as the spans of one line: the first line of the text, the calls, the results, the other fields. */
export const contentParts = (
  messages: readonly Message[],
  fields: readonly (Fields | undefined)[] = messages.map(otherFieldsOf),
): readonly TextSpan[] => {
  const blocks = messages.flatMap(({ content }) => content)
  const results = blocks.filter((block) => isBlock(block, 'tool_result')).length
  const hasCalls = blocks.some(({ type }) => type === 'tool_use')
  const described = blocks.flatMap((block) =>
    blockParts(block, results > 1, hasCalls ? besideCalls : Infinity),
  )
  // Thinking is shown only if there is nothing else.
  const parts = described.length > 0 ? described : blocks.flatMap(thinkingPart)
  const all = [...parts, ...fields.flatMap(fieldParts)]
  if (all.length === 0) return [['(empty)', 'dim']]
  return all.flatMap((part, index) => (index === 0 ? [part] : [separator, part]))
}

/** Formats the fields of a message that only its API or program knows, such as `output_config={"effort":"low"}`. */
const fieldParts = (fields?: Fields): readonly TextSpan[] =>
  readableFields(fields).map(([name, value]) => [`${name}=${valueText(value)}`, 'dim'])

const blockParts = (block: Block, isBrief: boolean, columns: number): readonly TextSpan[] => {
  if (isBlock(block, 'text'))
    return block.text.trim() === '' ? [] : [[cutToWidth(firstLine(block.text), columns)]]
  if (isBlock(block, 'tool_use')) return [[`→ ${block.name}(${argumentsText(block.input)})`, 'call']]
  if (isBlock(block, 'tool_result')) return [resultPart(block, isBrief)]
  if (isBlock(block, 'thinking') || isBlock(block, 'redacted_thinking')) return []
  return [[`[${nameOf(block)}]`, 'dim']]
}

/** Returns the type of a block; of one that keeps an item of another API, the type of that item. */
const nameOf = ({ type, item, block = item }: AnyBlock): string =>
  isFields(block) && typeof block['type'] === 'string' ? block['type'] : type

const thinkingPart = (block: Block): readonly TextSpan[] => {
  if (isBlock(block, 'thinking')) return [[`(thinking) ${firstLine(block.thinking)}`, 'dim']]
  return isBlock(block, 'redacted_thinking') ? [['(thinking, redacted)', 'dim']] : []
}

/**
 * Minimum length of a first line, in characters. After a shorter one, the next line is shown, too, as a heading or a tag alone says
 * little.
 */
const enough = 40

/** Returns the beginning of a text as one line, ending with an ellipsis if the text continues. */
export const firstLine = (text: string): string => {
  const trimmed = text.trim()
  let end = trimmed.indexOf('\n')
  while (end >= 0 && end < enough) end = trimmed.indexOf('\n', end + 1)
  const shown = end < 0 ? trimmed : trimmed.slice(0, end)
  return shown.replaceAll(/\s*[\r\n]\s*/g, ' ') + (end < 0 ? '' : ' …')
}

const longestArgument = 48

const argumentsText = (input: unknown): string =>
  typeof input === 'object' && input !== null && !Array.isArray(input)
    ? Object.entries(input)
        .map(([name, value]) => `${name}=${valueText(value)}`)
        .join(', ')
    : valueText(input)

const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? firstLine(value) : (JSON.stringify(value) ?? '')
  return text.length > longestArgument ? `${text.slice(0, longestArgument - 1)}…` : text
}

const resultPart = (
  { content = '', is_error: isError }: KnownBlock<'tool_result'>,
  isBrief: boolean,
): TextSpan => {
  const text = typeof content === 'string' ? content : content.map(partText).join('\n')
  const lines = text.trim() === '' ? 0 : text.trim().split('\n').length
  const amount = lines === 0 ? 'nothing' : plural(lines, 'line')
  const [first = ''] = text.trim().split('\n')
  if (isError === true) return [`← error: ${first}`, 'warning']
  return [
    lines === 0 || (isBrief && lines > 1)
      ? `← ${amount}`
      : lines === 1
        ? `← ${first}`
        : `← ${amount}: ${first}`,
    'dim',
  ]
}

const partText = (part: { readonly type: string }): string =>
  'text' in part && typeof part.text === 'string' ? part.text : `[${part.type}]`
