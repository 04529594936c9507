import { type Block, isBlock } from '../../events/blocks.ts'
import { type ConversationEvent, messageOf } from '../../events/events.ts'
import { kindOf } from '../../projections/columns.ts'
import { clientWords, oneLine, titleOf } from '../../projections/titles.ts'
import { isSameReply } from '../models/usage.ts'
import { isUnproven } from './calls.ts'

// Steps of model calls: when a call began and ended, the turn that it belongs to, and the tools that it called, with the times of their
// results. Everything comes from events; a time that no event has is absent.

/** A tool call in a reply. */
export interface CalledTool {
  readonly call: string
  readonly tool: string
  /** The first text in its input, at most 80 characters on one line. */
  readonly about?: string
  /** Time at which its result was recorded: ISO 8601, UTC; absent without a result. */
  readonly time?: string
  readonly isError?: true
}

/** The user turn in which a call was made. */
export interface TurnStart {
  /** Position at which the turn begins: of the prompt, or of the rewind after which the prompt was answered again. */
  readonly from: number
  /** Position of the user's message, and its first words. */
  readonly position: number
  readonly prompt: string
  /** Time of the event at `from`. */
  readonly time: string
}

/** Step of a model call, named by the position of its answer. */
export interface CallStep {
  readonly position: number
  /** Time at which the answer was recorded. */
  readonly time: string
  /** Time of the event that the request was made after. The call began at this time, or later if the program waited meanwhile. */
  readonly begun?: string
  /** Absent if the turn began before the events that were read. */
  readonly turn?: TurnStart
  /** Previous reply on the same path: its position, and the position from which its request was made. */
  readonly before?: { readonly position: number; readonly at: number }
  /** Present if the answer continues the reply before it, which an import stored in several messages. */
  readonly isPart?: true
  /** Tools that the reply calls, at most the first 20; `moreTools` is the number of others. */
  readonly tools: readonly CalledTool[]
  readonly moreTools?: number
  /** Messages that the summary replaced, and its estimated tokens. */
  readonly condensed?: { readonly messages: number; readonly tokens: number }
}

const mostTools = 20

interface OpenStep extends Omit<CallStep, 'tools'> {
  readonly tools: OpenTool[]
}
type OpenTool = { -readonly [K in keyof CalledTool]: CalledTool[K] }

interface Answered {
  readonly position: number
  readonly at: number
}

/** Reads the steps of calls from events, which are passed in order and without gaps. */
export interface StepReader {
  readonly take: (event: ConversationEvent) => void
  /** Returns the step of the call that was answered at this position. */
  readonly stepAt: (position: number) => CallStep | undefined
}

export const createStepReader = (): StepReader => {
  const steps = new Map<number, OpenStep>()
  const times = new Map<number, string>()
  const open = new Map<string, OpenTool>()
  let turns: TurnStart[] = []
  let answered: Answered[] = []
  let last: (ConversationEvent<'MessageAppended'> & { readonly step: OpenStep }) | undefined

  const rewind = ({ position, metadata: { time }, data: { to } }: ConversationEvent<'Rewound'>): void => {
    turns = turns.filter((turn) => turn.position <= to)
    answered = answered.filter((call) => call.position <= to)
    const turn = turns.at(-1)
    // The turns that the rewind has left as they were have ended: what follows is a new attempt.
    if (turn) turns[turns.length - 1] = { ...turn, from: position, time }
    open.clear()
    last = undefined
  }
  const addResults = ({ metadata: { time } }: ConversationEvent, content: readonly Block[]): void => {
    for (const block of content) {
      if (!isBlock(block, 'tool_result')) continue
      const tool = open.get(block.tool_use_id)
      if (!tool) continue
      tool.time = time
      if (block.is_error === true) tool.isError = true
      open.delete(block.tool_use_id)
    }
  }
  const begin = (event: ConversationEvent, at: number, tools: readonly OpenTool[]): OpenStep => {
    const { position, metadata } = event
    const begun = times.get(at)
    const turn = turns.at(-1)
    const before = answered.at(-1)
    return {
      position,
      time: metadata.time,
      ...(begun !== undefined && { begun }),
      ...(turn && { turn }),
      ...(before && { before }),
      tools: tools.slice(0, mostTools),
      ...(tools.length > mostTools && { moreTools: tools.length - mostTools }),
    }
  }
  const reply = (event: ConversationEvent<'MessageAppended'>): void => {
    const { position, data } = event
    const tools = toolsIn(messageOf(event).content)
    const isPart = last !== undefined && isSameReply(last.data, data)
    if (!isPart) open.clear()
    for (const tool of tools) open.set(tool.call, tool)
    const at = askedAt(event)
    const step: OpenStep = {
      ...begin(event, at, tools),
      ...(isPart && last && { isPart: true as const, ...(last.step.before && { before: last.step.before }) }),
    }
    steps.set(position, step)
    if (!isPart) answered.push({ position, at })
    last = { ...event, step }
  }
  return {
    take: (event) => {
      times.set(event.position, event.metadata.time)
      if (event.type === 'Rewound') rewind(event)
      else if (event.type === 'Condensed') {
        const { origin, messagesHidden: messages, tokens } = event.data
        const condensed = { messages, tokens: tokens.after }
        if (origin) steps.set(event.position, { ...begin(event, askedAt(event), []), condensed })
      } else if (event.type === 'MessageAppended') {
        if (event.data.role === 'assistant' && (event.data.origin?.context || isUnproven(event))) reply(event)
        else addResults(event, messageOf(event).content)
        if (kindOf(event) === 'u') {
          const { position, metadata } = event
          const prompt = titleOf([event]) || clientWords(textIn(messageOf(event).content))
          turns.push({ from: position, position, prompt, time: metadata.time })
          last = undefined
        }
      }
    },
    stepAt: (position) => steps.get(position),
  }
}

/** Returns the position from which the request for an answer was made. */
const askedAt = ({
  position,
  data: { origin },
}: ConversationEvent<'MessageAppended' | 'Condensed'>): number =>
  Math.min(origin?.context?.position ?? position - 1, position - 1)

const textIn = (content: readonly Block[]): string =>
  content.map((block) => (isBlock(block, 'text') ? block.text.slice(0, 200) : `(${block.type})`)).join(' ')

const toolsIn = (content: readonly Block[]): readonly OpenTool[] =>
  content.flatMap((block): readonly OpenTool[] => {
    if (!isBlock(block, 'tool_use')) return []
    const about = firstText(block.input)
    return [
      { call: block.id, tool: oneLine(block.name), ...(about !== undefined && { about: oneLine(about) }) },
    ]
  })

/** Returns the beginning of the first text in a tool's input. */
const firstText = (input: unknown): string | undefined => {
  if (typeof input !== 'object' || input === null) return undefined
  const text = Object.values(input).find((value) => typeof value === 'string' && value.trim() !== '')
  return typeof text === 'string' ? text.slice(0, 200) : undefined
}
