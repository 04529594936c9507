import type { Configuration } from '../../events/events.ts'
import {
  configurationOf,
  type Effective,
  isReply,
  type Item,
  type MessageItem,
} from '../../projections/effective.ts'
import { render, type RenderResult, type RenderOptions } from '../../projections/render/renderer.ts'
import { withStubs } from '../disclosure/withheld.ts'
import { type FormatExporter, leaveAsIs } from './exporter.ts'
import { jsonPieces } from './json-pieces.ts'

// The fields of a request that a configuration may set. The API refuses other fields, which recorders add, and `betas`, which belong in
// the header `anthropic-beta`.
const parameterNames = new Set([
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'stream',
  'thinking',
  'tool_choice',
  'metadata',
  'service_tier',
  'output_config',
  'output_format',
  'context_management',
  'container',
  'mcp_servers',
])

/** The body of a Messages API request. */
export interface AnthropicRequest extends Pick<RenderResult, 'system' | 'tools' | 'messages'> {
  readonly model?: string
  readonly [parameter: string]: unknown
}

/**
 * Returns the effective history as the body of a Messages API request, with the configured model and parameters. Without a configured
 * model, the body names the model of the last shown reply, or else `earlier`.
 *
 * @param earlier model of the last reply that a summary may hide
 */
export const anthropicRequest = (
  effective: Effective,
  options: RenderOptions = {},
  earlier?: string,
): AnthropicRequest => {
  const { system, tools, tool_choice, messages } = render(effective, options)
  const { model = lastModel(effective.items) ?? earlier, parameters = {} }: Configuration =
    configurationOf(effective)
  const known = Object.entries(parameters).filter(([name]) => parameterNames.has(name))
  return {
    ...(model !== undefined && { model }),
    ...Object.fromEntries(known),
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    ...(tool_choice && { tool_choice }),
    messages,
  }
}

/** Returns the model of the last reply. Names such as `<synthetic>` are those of programs. */
export const lastModel = (items: readonly Item[]): string | undefined => {
  const isOfModel = (item: Item): item is MessageItem =>
    isReply(item) && item.origin?.model?.startsWith('<') === false
  return items.findLast(isOfModel)?.origin?.model
}

/** An exporter that writes the effective history as the body of a Messages API request. */
export const anthropicExporter: FormatExporter = {
  extension: 'json',
  kind: 'json',
  isOfLog: false,
  pieces: async function* (chat, { at, redact = leaveAsIs, withheld = new Map(), isCompact = false }) {
    const context = await withStubs(chat, withheld).context({ at })
    yield* jsonPieces(redact(anthropicRequest(context)), !isCompact)
    yield '\n'
  },
}
