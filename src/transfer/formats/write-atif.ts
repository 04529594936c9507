import { isDeepStrictEqual } from 'node:util'
import { type Block, isBlock } from '../../events/blocks.ts'
import type { Configuration, Origin } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { configurationOf, type Effective, messagesOf } from '../../projections/effective.ts'
import { withStubs } from '../disclosure/withheld.ts'
import { readStep } from './atif-steps.ts'
import { type FormatExporter, leaveAsIs } from './exporter.ts'
import { jsonPieces } from './json-pieces.ts'

const version = 'ATIF-v1.6'
const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** An exporter that writes the effective history as a trajectory (Agent Trajectory Interchange Format). */
export const atifExporter: FormatExporter = {
  extension: 'json',
  kind: 'json',
  isOfLog: false,
  pieces: async function* (chat, { at, redact = leaveAsIs, withheld = new Map(), isCompact = false }) {
    const context = await withStubs(chat, withheld).context({ at })
    yield* jsonPieces(redact(trajectoryOf(context, chat.id)), !isCompact)
    yield '\n'
  },
}

/** A message of the history, with the facts that a step has beside it. */
interface Said {
  readonly role: string
  readonly content: readonly Block[]
  readonly time?: string | undefined
  readonly origin?: Origin | undefined
}

/**
 * Returns the effective history as a trajectory. Each result is in the step that made its call. Blocks for which the format has no
 * place are kept in the `extra` of their step, so that an import has the same history.
 */
export const trajectoryOf = (effective: Effective, id: string): Fields => {
  const { system, tools, model }: Configuration = configurationOf(effective)
  const steps: Fields[] = []
  const add = (said: Said, results: readonly Block[]): void => {
    steps.push(stepOf(said, results, steps.length + 1))
  }
  const prompt = typeof system === 'string' ? [{ type: 'text' as const, text: system }] : system
  if (prompt && prompt.length > 0) steps.push({ step_id: 1, source: 'system', message: textIn(prompt) })
  let waiting: Said | undefined
  const end = (results: readonly Block[] = []): void => {
    if (waiting) add(waiting, results)
    waiting = undefined
  }
  for (const item of effective.items) {
    if (item.kind === 'truncation') {
      end()
      add({ role: 'system', content: [] }, [])
    }
    for (const { role, content } of messagesOf(item)) {
      const origin = item.kind === 'message' ? item.origin : undefined
      const calls = new Set(waiting?.content.map((block) => block['id']))
      const others = content.findIndex(
        (block) => !isBlock(block, 'tool_result') || !calls.has(block.tool_use_id),
      )
      const answered = role === 'user' && waiting ? (others < 0 ? content.length : others) : 0
      end(content.slice(0, answered))
      const said = { role, content: content.slice(answered), time: item.time, origin }
      if (role === 'assistant') waiting = said
      else if (said.content.length > 0) add(said, [])
    }
  }
  end()
  // A trajectory has at least one step.
  if (steps.length === 0) add({ role: 'system', content: [] }, [])
  return {
    schema_version: version,
    session_id: id,
    agent: {
      name: 'palimpsest',
      version: '1',
      ...(model !== undefined && { model_name: model }),
      ...(tools && tools.length > 0 && { tool_definitions: tools.map(definitionOf) }),
    },
    steps,
    final_metrics: totalsOf(steps),
  }
}

const stepOf = ({ role, content, time, origin }: Said, results: readonly Block[], id: number): Fields => {
  const isReply = role === 'assistant'
  const { model, usage } = origin ?? {}
  const thinking = content.filter((block) => isBlock(block, 'thinking'))
  const calls = content.filter((block) => isBlock(block, 'tool_use'))
  const rest = content.filter((block) => !isBlock(block, 'thinking') && !isBlock(block, 'tool_use'))
  const step = {
    step_id: id,
    ...(time !== undefined && { timestamp: time }),
    source: isReply ? 'agent' : role === 'system' ? 'system' : 'user',
    message: partsOf(isReply ? rest : content),
    ...(isReply && {
      ...(model !== undefined && { model_name: model }),
      ...(thinking.length > 0 && {
        reasoning_content: thinking.map((block) => block.thinking).join('\n\n'),
      }),
      ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
      ...(usage && { metrics: metricsOf(usage) }),
    }),
    ...(results.length > 0 && { observation: { results: results.map(resultOf) } }),
  }
  const plain = readStep(step)
  const own = {
    ...(!isDeepStrictEqual(plain.content, content) && { content }),
    ...(!isDeepStrictEqual(plain.results, results) && { results }),
  }
  // A system message at the beginning would be read as the system prompt.
  const isMarked = Object.keys(own).length > 0 || role === 'system'
  return {
    ...step,
    ...(isMarked && { extra: { palimpsest: role === 'system' ? { content, ...own } : own } }),
  }
}

/** Returns blocks as a text, or as a list of parts if there is an image. What is neither is named in brackets. */
const partsOf = (blocks: readonly Block[]): string | readonly Fields[] => {
  const parts = blocks.map((block): Fields => {
    if (isBlock(block, 'text') && typeof block.text === 'string') return { type: 'text', text: block.text }
    const { source } = block
    const { type, media_type: mediaType, data, url } = isFields(source) ? source : {}
    if (isBlock(block, 'image') && type === 'base64' && imageTypes.has(String(mediaType)))
      return {
        type: 'image',
        source: { media_type: mediaType, path: `data:${String(mediaType)};base64,${String(data)}` },
      }
    return { type: 'text', text: `[${block.type}${typeof url === 'string' ? ` at ${url}` : ''}]` }
  })
  const [only] = parts
  if (!only) return ''
  return parts.length === 1 && only['type'] === 'text' ? String(only['text']) : parts
}

const textIn = (blocks: readonly Block[]): string =>
  blocks.map((block) => (isBlock(block, 'text') ? block.text : `[${block.type}]`)).join('\n\n')

const callOf = ({ id, name, input }: Block): Fields => ({
  tool_call_id: id,
  function_name: name,
  arguments: isFields(input) ? input : { input },
})

const resultOf = (block: Block): Fields => {
  const { tool_use_id: id, content } = block
  return {
    source_call_id: id,
    content: typeof content === 'string' ? content : partsOf((content ?? []) as readonly Block[]),
  }
}

const metricsOf = (usage: Fields): Fields => {
  const number = (field: string): number => (typeof usage[field] === 'number' ? usage[field] : 0)
  const cached = number('cache_read_input_tokens')
  return {
    prompt_tokens: number('input_tokens') + number('cache_creation_input_tokens') + cached,
    completion_tokens: number('output_tokens'),
    cached_tokens: cached,
  }
}

const totalsOf = (steps: readonly Fields[]): Fields => {
  const all = steps.map(({ metrics }) => metrics).filter(isFields)
  const sum = (field: string): number => all.reduce((total, metrics) => total + Number(metrics[field]), 0)
  return {
    ...(all.length > 0 && {
      total_prompt_tokens: sum('prompt_tokens'),
      total_completion_tokens: sum('completion_tokens'),
      total_cached_tokens: sum('cached_tokens'),
    }),
    total_steps: steps.length,
  }
}

/** Returns the definition of a tool as a function of the Chat Completions API; tools of other kinds are unchanged. */
const definitionOf = (tool: Fields): Fields => {
  const { name, description, input_schema: parameters, type, ...rest } = tool
  if (parameters === undefined || (type !== undefined && type !== 'custom')) return tool
  return {
    type: 'function',
    function: { name, ...(description !== undefined && { description }), ...rest, parameters },
  }
}
