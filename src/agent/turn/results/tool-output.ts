import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { type Block, textBlock } from '../../../events/blocks.ts'
import { copyJson, type Json, type Fields, isFields } from '../../../events/json.ts'
import { orAborted } from '../../models/abort.ts'
import { errorText } from '../../models/error-text.ts'
import { bytesBlocks } from '../../context/policy/media.ts'
import { resultBlocks, type ToolNames } from './tool-blocks.ts'

/** Result of a call as shown to the model: `content` and `is_error` of a tool result. */
export interface ToolAnswer {
  readonly content?: string | readonly Block[]
  readonly is_error?: true
}

export interface ToolOutputOptions {
  /** Signal that stops the reading of a stream. */
  readonly signal?: AbortSignal
  readonly tools?: ToolNames
}

/**
 * Converts a tool's return value to the form that the API accepts. Nothing is refused, because the tool has already taken effect: text
 * is kept unchanged, blocks of the API are adapted, blocks and results of an MCP client are converted to the API's form, bytes become
 * the content that they contain, and everything else becomes JSON.
 */
export const answerOf = async (output: unknown, reading: ToolOutputOptions = {}): Promise<ToolAnswer> => {
  try {
    return await readAnswer(output, reading)
  } catch (error) {
    const content = `The call was carried out, but what it returned cannot be read: ${errorText(error)}`
    return { is_error: true, content }
  }
}

const readAnswer = async (output: unknown, reading: ToolOutputOptions): Promise<ToolAnswer> => {
  if (output === undefined || output === null) return {}
  if (output instanceof Error) return { is_error: true, content: errorText(output) }
  if (output instanceof Blob || output instanceof Response)
    return readAnswer(await orAborted(output.arrayBuffer(), reading.signal), reading)
  if (output instanceof ArrayBuffer) return { content: bytesBlocks(Buffer.from(output)) }
  if (ArrayBuffer.isView(output))
    return { content: bytesBlocks(Buffer.from(output.buffer, output.byteOffset, output.byteLength)) }
  if (typeof output === 'string') return { content: output }
  if (typeof output === 'bigint') return { content: `${output}` }
  const json = typeof output === 'object' ? jsonOf(output) : inspect(output)
  return json === undefined ? { content: inspect(output, shown) } : answerOfJson(json, reading.tools)
}

/** Returns the value as JSON; undefined if JSON would lose a part of it. */
const jsonOf = (value: object): Json | undefined => {
  try {
    const own = 'toJSON' in value ? (JSON.parse(JSON.stringify(value)) as unknown) : value
    return E.getOrElse(() => undefined as Json | undefined)(copyJson(own))
  } catch {
    return undefined
  }
}

/** Limits on the text that represents a value without a JSON form. */
const shown = { depth: 8, maxArrayLength: 10_000, maxStringLength: 1_000_000 }

const answerOfJson = (output: Json, tools: ToolNames): ToolAnswer => {
  if (isCallToolResult(output)) return answerOfMcp(output, tools)
  const blocks: unknown = Array.isArray(output) ? output : [output]
  return isBlocks(blocks)
    ? { content: blocks.flatMap((block) => resultBlocks(block, tools)) }
    : { content: textOf(output) }
}

const isBlocks = (value: unknown): value is readonly Block[] =>
  Array.isArray(value) && value.every((each) => isFields(each) && typeof each['type'] === 'string')

/** Result of an MCP client's `callTool`. */
interface CallToolResult extends Fields {
  readonly content: readonly Block[]
}
const resultFields: ReadonlySet<string> = new Set(['content', 'isError', 'structuredContent', '_meta'])

const isCallToolResult = (value: unknown): value is CallToolResult =>
  isFields(value) && isBlocks(value['content']) && Object.keys(value).every((key) => resultFields.has(key))

const answerOfMcp = (
  { content, isError, structuredContent }: CallToolResult,
  tools: ToolNames,
): ToolAnswer => {
  const blocks = content.flatMap((block) => resultBlocks(block, tools))
  // Most servers repeat structured content as text, as MCP asks them to.
  const isSaid = structuredContent === undefined || content.some(({ type }) => type === 'text')
  return {
    content: isSaid ? blocks : [...blocks, textBlock(textOf(structuredContent))],
    ...(isError === true && { is_error: true }),
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
