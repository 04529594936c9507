import { type Configuration, START } from '../../../events/events.ts'
import { freeze } from '../../../events/freeze.ts'
import { configurationOf, type Effective, type Item } from '../../effective.ts'
import { atOnce } from '../../slices.ts'
import { limitBreakpoints, type Place, placeBreakpoints } from './breakpoints.ts'
import { clean, wellFormed } from './clean.ts'
import type { Repair, Report } from './repairs.ts'
import { scriptOf } from './script.ts'
import { isAnyCall, toolsOf, type ToolsSent } from './tools.ts'
import type { RequestBlock, RequestMessage, RequestText, RequestTool } from '../../render/renderer.ts'
import type { RenderedMessage } from './utterances.ts'

/**
 * A request for the Messages API, and how it departs from what is stored. The SDK takes `system`, `tools`, `tool_choice` and `messages` as
 * they are.
 */
export interface Rendered {
  readonly system?: string | RequestText[]
  readonly tools?: RequestTool[]
  /** Sent with tools that are no longer in force, so that none of them is called. */
  readonly tool_choice?: { readonly type: 'none' }
  readonly messages: RequestMessage[]
  /** Every departure from the stored blocks, in the order of the messages. */
  readonly repairs: readonly Repair[]
  /**
   * Whose turn it is.
   * - `model`: this is a request, ready to be sent.
   * - `user`: the history ends in a finished reply, rendered as it is; it is not a request before the user has spoken.
   * - `beginning`: nothing has been said that can be shown, so there is nothing to send: `messages` is empty.
   */
  readonly awaits: 'model' | 'user' | 'beginning'
}

export interface RenderOptions {
  /** The model accepts messages of role `system` between the others. Default false: they are shown as user text. */
  readonly systemMessages?: boolean | undefined
  /** The history's last assistant message is a prefill, which the model should continue. Default false. */
  readonly prefill?: boolean | undefined
  /** Put a note in place of what a truncation hides. Default true. */
  readonly truncationNotes?: boolean | undefined
  /**
   * Set cache breakpoints that live this long, at the ends of what the next request will share with this one, instead of the stored
   * ones. Default: the stored ones, as many as the API accepts.
   */
  readonly cache?: '5m' | '1h' | undefined
}

/** The most messages that a request may hold. */
const maxMessages = 100_000

/**
 * The effective history as a request for the Messages API. Whatever happened to the log, the request is valid if `awaits` is `model`.
 * Appending to the conversation does not change the messages already rendered, except at the end of an open turn.
 *
 * Total, and deterministic: the same history and options always give the same bytes. What it derives from a history is remembered.
 * The rules and their repairs: docs/render.md.
 */
export const render = (effective: Effective, options: RenderOptions = {}): Rendered =>
  atOnce(finishing(effective, options))

/** Writes what is not written yet, then what depends on the whole; a pass over all messages is a slice. */
function* finishing(effective: Effective, options: RenderOptions): Generator<void, Rendered> {
  const repairs: Repair[] = []
  const report: Report = (kind, position, detail) => repairs.push({ kind, position, detail })
  const { systemMessages = false, prefill = false, truncationNotes = true, cache } = options
  const { system, tools, isFormer } = renderConfiguration(effective, report, cache !== undefined)
  const { script, repairs: said, summary } = scriptOf(effective, systemMessages, truncationNotes)
  for (const repair of said) repairs.push(repair)
  const all = script.ended(report, prefill)
  if (all.length > maxMessages) return renderEnd(effective, options)
  const messages = prefill ? trimEnd(all, report) : all
  yield
  if (!tools?.length) reportUnknownTools(effective, messages, report)
  yield

  const position = effective.layout.configured ?? 0
  const parts = [
    { position, content: tools ?? [] },
    { position, content: Array.isArray(system) ? system : [] },
    ...messages,
  ]
  const [limitedTools, limitedSystem, ...limited] =
    cache === undefined
      ? limitBreakpoints(parts, report)
      : placeBreakpoints(parts, placesIn(messages, summary, system !== undefined), cache, report)
  yield
  return {
    ...(system !== undefined && {
      system: Array.isArray(system) ? freeze(limitedSystem as RequestText[]) : (system as string),
    }),
    ...(tools !== undefined && { tools: freeze((limitedTools ?? []) as RequestTool[]) }),
    ...(isFormer && { tool_choice: { type: 'none' } }),
    messages: messages.map(({ role }, index) => ({
      role: role as RequestMessage['role'],
      // The next request shares it.
      content: freeze((limited[index] ?? []) as RequestBlock[]),
    })),
    repairs,
    awaits: awaited(effective, messages, prefill),
  }
}

/**
 * The most useful places for breakpoints in the parts of a request: the ends of system prompt or tools, of the newest summary, of the
 * previous request, and of this one.
 */
const placesIn = (messages: Messages, summary: Place | undefined, hasSystem: boolean): readonly Place[] => {
  const reply = messages.findLastIndex(({ role }) => role === 'assistant')
  const ends = [reply - 1, ...(reply < messages.length - 1 ? [messages.length - 1] : [])]
  const places = [...(summary ? [summary] : []), ...ends.map((index): Place => [index, Infinity])]
  // Tools and system prompt come before the messages.
  const inMessages = places.flatMap(([index, at]): Place[] => (index < 0 ? [] : [[index + 2, at]]))
  return [[hasSystem ? 1 : 0, Infinity], ...inMessages]
}

const renderConfiguration = (
  effective: Effective,
  report: Report,
  asBlocks: boolean,
): Pick<Configuration, 'system'> & ToolsSent => {
  const { system } = configurationOf(effective)
  const { tools, isFormer } = toolsOf(effective)
  const { configured: position = 0, toolsFrom = START } = effective.layout
  if (isFormer)
    report('tools-recalled', toolsFrom, 'the tools of calls that are shown, which are not in force any more')
  const [cleanSystem, cleanTools] = wellFormed([system, tools] as const)
  if (cleanSystem !== system || cleanTools !== tools)
    report('surrogate-replaced', position, 'a lone surrogate in the system prompt or a tool')
  const shown =
    typeof cleanSystem === 'string'
      ? cleanSystem.trim() === ''
        ? undefined
        : asBlocks
          ? [{ type: 'text' as const, text: cleanSystem }]
          : cleanSystem
      : cleanSystem && clean(cleanSystem, 'system', position, report)
  return {
    ...(shown !== undefined && shown.length > 0 && { system: shown }),
    ...(cleanTools && { tools: cleanTools }),
    isFormer,
  }
}

const reportUnknownTools = ({ layout }: Effective, messages: Messages, report: Report): void => {
  const found = messages.find(({ role, content }) => role === 'assistant' && content.some(isAnyCall))
  const why = layout.formerTools
    ? 'calls are shown that were made when their tools were in force no more'
    : 'calls are shown, and nobody recorded their tools'
  if (found) report('tools-unknown', found.position, why)
}

type Messages = readonly (RenderedMessage & { readonly position: number; readonly until: number })[]

const awaited = ({ items }: Effective, messages: Messages, prefill: boolean): Rendered['awaits'] => {
  const last = messages.at(-1)
  if (!last) return 'beginning'
  if (last.role !== 'assistant' || prefill) return 'model'
  const said = items.find(({ position }) => position === last.until)
  return said?.kind === 'message' && said.origin?.stopReason === 'pause_turn' ? 'model' : 'user'
}

const trimEnd = (messages: Messages, report: Report): Messages => {
  const message = messages.at(-1)
  const block = message?.content.at(-1)
  if (message?.role !== 'assistant' || block?.type !== 'text' || typeof block['text'] !== 'string')
    return messages
  const text = block['text'].trimEnd()
  if (text === block['text']) return messages
  report('whitespace-trimmed', message.position, 'a prefill cannot end in white space')
  return [
    ...messages.slice(0, -1),
    { ...message, content: [...message.content.slice(0, -1), { ...block, text }] },
  ]
}

/** The last part of a history that is too long for one request, from a user message without tool results. */
const renderEnd = (effective: Effective, options: RenderOptions): Rendered => {
  const { items } = effective
  const isStart = (item: Item): boolean =>
    item.kind === 'message' &&
    item.role === 'user' &&
    item.content.every(({ type }) => type !== 'tool_result')
  const half = Math.floor(items.length / 2)
  const found = items.findIndex((item, index) => index > half && isStart(item))
  const start = found < 0 ? half + 1 : found
  const position = items[start]?.position ?? 0
  // Thinking is not valid without what came before it. With this prompt, all of it counts as older.
  const cut = {
    ...effective,
    items: items.slice(start),
    layout: { ...effective.layout, promptSince: effective.at },
  }
  const rendered = render(cut, options)
  const detail = `the ${start} items before ${position} are left out: a request holds ${maxMessages} messages at most`
  return { ...rendered, repairs: [{ kind: 'history-cut', position, detail }, ...rendered.repairs] }
}
