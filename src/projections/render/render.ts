import { type Configuration, START } from '../../events/events.ts'
import { freeze } from '../../events/freeze.ts'
import { configurationOf, type Effective, isReply, type Item, type MessageItem } from '../effective.ts'
import { atOnce, sliceLength } from '../slices.ts'
import { limitBreakpoints, type PartPosition, placeBreakpoints } from './breakpoints.ts'
import { clean, wellFormed } from './clean.ts'
import type { MessageDraft } from './drafts.ts'
import { limitMedia } from './media-room.ts'
import type { Repair, Report } from './repairs.ts'
import { scriptOf, writeItems } from './script.ts'
import { isAnyCall, toolsOf, type RequestToolset } from './tools.ts'
import type { RequestBlock, RequestMessage, RequestText, RequestTool } from './request-types.ts'
import type { RenderedMessage } from './utterances.ts'

/**
 * A request for the Messages API, with its differences from the stored history. The SDK accepts `system`, `tools`, `tool_choice` and
 * `messages` unchanged.
 */
export interface RenderResult {
  readonly system?: string | RequestText[]
  readonly tools?: RequestTool[]
  /** Set if the tools are no longer configured and are sent only for the calls shown, so that the model calls none of them. */
  readonly tool_choice?: { readonly type: 'none' }
  readonly messages: RequestMessage[]
  /** Every difference from the stored blocks, in the order of the messages. */
  readonly repairs: readonly Repair[]
  /**
   * The party whose turn it is.
   *
   * - `model`: this is a request, ready to be sent.
   * - `user`: the history ends with a finished reply and is rendered unchanged; it becomes a request once the user has spoken.
   * - `beginning`: the history has nothing to show, so nothing can be sent: `messages` is empty.
   */
  readonly awaits: 'model' | 'user' | 'beginning'
}

export interface RenderOptions {
  /**
   * Send messages of role `system` between the others, to a model that accepts this. Default false: system messages are shown as user
   * text.
   */
  readonly systemMessages?: boolean | undefined
  /** Treat the history's last assistant message as a prefill for the model to continue. Default false. */
  readonly prefill?: boolean | undefined
  /** Show a note in place of truncated content. Default true. */
  readonly truncationNotes?: boolean | undefined
  /**
   * Lifetime of cache breakpoints that replace the stored ones. They are set where the next request stops sharing content with this
   * one. Default: the stored breakpoints, as many as the API accepts.
   */
  readonly cache?: '5m' | '1h' | undefined
}

/** Maximum number of messages in a request. */
const maxMessages = 100_000

/**
 * Renders the effective history as a request for the Messages API. The request is valid for any log if `awaits` is `model`. Appending
 * to the conversation does not change messages that were already rendered, except at the end of an open turn.
 *
 * Total and deterministic: the same history and options always give the same bytes. Values derived from a history are cached.
 * The rules and their repairs: docs/render.md.
 */
export const render = (effective: Effective, options: RenderOptions = {}): RenderResult =>
  atOnce(finishing(effective, options))

/**
 * Writes the messages that remain, then the parts that depend on the whole request. Each pass over all messages is one slice of work.
 */
function* finishing(effective: Effective, options: RenderOptions): Generator<void, RenderResult> {
  const repairs: Repair[] = []
  const report: Report = (kind, position, detail) => repairs.push({ kind, position, detail })
  const { systemMessages = false, prefill = false, truncationNotes = true, cache } = options
  const { system, tools, isFormer } = renderConfiguration(effective, report, cache !== undefined)
  const { script, repairs: before, summary } = scriptOf(effective, systemMessages, truncationNotes)
  for (const repair of before) repairs.push(repair)
  const all = script.ended(report, prefill)
  if (all.length > maxMessages) return renderEnd(effective, options)
  const said = limitMedia(all, knownIn(effective), report)
  const messages = prefill ? trimEnd(said, report) : said
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
    messages: messages.map(({ role, fields }, index) => ({
      role: role as RequestMessage['role'],
      // The next request shares this array.
      content: freeze((limited[index] ?? []) as RequestBlock[]),
      ...freeze(fields),
    })),
    repairs,
    awaits: awaited(effective, messages, prefill),
  }
}

/** Computes the same as `render`, in slices of work. The output for the beginning of a history is cached and continued. */
export function* renderInSlices(
  effective: Effective,
  options: RenderOptions,
  length = sliceLength,
): Generator<void, RenderResult> {
  const { systemMessages = false, truncationNotes = true } = options
  for (let end = length; end < effective.items.length; end += length) {
    writeItems(effective, systemMessages, truncationNotes, end)
    yield
  }
  return yield* finishing(effective, options)
}

/**
 * Returns the most useful positions for breakpoints in a request: the ends of the system prompt or tools, of the newest summary, of the
 * previous request, and of this request.
 */
const placesIn = (
  messages: Messages,
  summary: PartPosition | undefined,
  hasSystem: boolean,
): readonly PartPosition[] => {
  const reply = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = messages.findLastIndex(hasContent)
  const ends = [
    messages.slice(0, Math.max(0, reply)).findLastIndex(hasContent),
    ...(reply < last ? [last] : []),
  ]
  const places = [...(summary ? [summary] : []), ...ends.map((index): PartPosition => [index, Infinity])]
  // Tools and system prompt come before the messages.
  const inMessages = places.flatMap(([index, at]): PartPosition[] => (index < 0 ? [] : [[index + 2, at]]))
  return [[hasSystem ? 1 : 0, Infinity], ...inMessages]
}

const renderConfiguration = (
  effective: Effective,
  report: Report,
  asBlocks: boolean,
): Pick<Configuration, 'system'> & RequestToolset => {
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

/**
 * Returns a predicate for messages. It reports whether every reply in a message answers a request that was rendered under the limits
 * for images, according to the reply's receipt.
 */
const knownIn = ({ items }: Effective): ((message: Messages[number]) => boolean) => {
  let unknown: readonly number[] | undefined
  return ({ position, until }) => {
    unknown ??= items.flatMap((item) => (isReply(item) && !isUnderLimits(item) ? [item.position] : []))
    return !unknown.some((at) => position <= at && at <= until)
  }
}

const isUnderLimits = ({ origin }: MessageItem): boolean => Number(origin?.context?.options['renderer']) >= 2

const reportUnknownTools = ({ layout }: Effective, messages: Messages, report: Report): void => {
  const found = messages.find(({ role, content }) => role === 'assistant' && content.some(isAnyCall))
  const why = layout.formerTools
    ? 'calls are shown that were made when their tools were in force no more'
    : 'calls are shown, and nobody recorded their tools'
  if (found) report('tools-unknown', found.position, why)
}

type Messages = readonly (RenderedMessage & Pick<MessageDraft, 'position' | 'until' | 'fields'>)[]

const awaited = ({ items }: Effective, messages: Messages, prefill: boolean): RenderResult['awaits'] => {
  // A system message without content asks nothing of the model.
  const last = messages.findLast(hasContent)
  if (!last) return 'beginning'
  if (last.role !== 'assistant' || prefill) return 'model'
  const said = items.find(({ position }) => position === last.until)
  return said?.kind === 'message' && said.origin?.stopReason === 'pause_turn' ? 'model' : 'user'
}

const hasContent = ({ content }: Messages[number]): boolean => content.length > 0

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

/** Renders only the end of a history that is too long for one request, starting at a user message without tool results. */
const renderEnd = (effective: Effective, options: RenderOptions): RenderResult => {
  const { items } = effective
  const isStart = (item: Item): boolean =>
    item.kind === 'message' &&
    item.role === 'user' &&
    item.content.every(({ type }) => type !== 'tool_result')
  const half = Math.floor(items.length / 2)
  const found = items.findIndex((item, index) => index > half && isStart(item))
  const start = found < 0 ? half + 1 : found
  const position = items[start]?.position ?? 0
  // Thinking is invalid without the content before it. With this `promptSince`, all thinking counts as older than the prompt.
  const cut = {
    ...effective,
    items: items.slice(start),
    layout: { ...effective.layout, promptSince: effective.at },
  }
  const rendered = render(cut, options)
  const detail = `the ${start} items before ${position} are left out: a request holds ${maxMessages} messages at most`
  return { ...rendered, repairs: [{ kind: 'history-cut', position, detail }, ...rendered.repairs] }
}
