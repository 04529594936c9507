import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import OpenAI from 'openai'
import { openAiModel } from '../../../src/agent/models/openai/model.ts'
import { summaryFailed } from '../../../src/agent/context/summary/errors.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import type { Conversation, Store, TurnResult, TurnEvent } from '../../../src/index.ts'
import type { AnyBlock } from '../../../src/events/blocks.ts'
import { text } from '../log.ts'
import type { ApiFailure, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { type ApiRequest, isThinking } from '../../../src/testing/messages-api/request.ts'
import type { ChatRequest as ChatBody, ChatFailure } from '../../../src/testing/chat-completions/body.ts'
import { chatFailures } from '../../../src/testing/chat-completions/failures.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { does, outcomeOf } from './acts.ts'
import type { Act, ChatPlan, Said, Thread, TurnPlan } from './plan.ts'
import { agentTools, type Runs, toolSets, toolsOf } from './tools.ts'

/** A request of a turn, and the id that its answer had, if its head came. */
export interface Sent {
  readonly number: number
  readonly requestId: string | undefined
}
/** A turn, while it goes on and when it has ended. */
export interface Ran {
  readonly options: TurnPlan
  readonly sent: Sent[]
  readonly abort: () => void
  readonly isAborted: () => boolean
  /** The value of `chat.turn`, or the tag of its error; undefined while it goes on. */
  outcome: { readonly value: unknown } | { readonly error: string; readonly cause: unknown } | undefined
}

/** What the players of one run share. */
export interface World {
  readonly api: () => string
  readonly chat: () => string
  readonly runs: Runs
  readonly turns: Ran[]
  /** Every conversation that there is, by id. */
  readonly conversations: Set<string>
  readonly openStore: () => Promise<Store>
  /** A number for the next request. */
  readonly numberOf: () => number
  forks: number
}

export interface Player {
  /** Does all there is to do. */
  readonly play: () => Promise<void>
  /** What its models say to a request. */
  readonly says: (body: ApiRequest) => Promise<ApiReply | ApiFailure>
  readonly saysInChat: (body: ChatBody) => Promise<ChatReply | ChatFailure>
  /** Ends the turns that were forgotten. */
  readonly end: () => Promise<void>
}

/** A turn under way, and what makes its thread forget it. */
interface Place {
  readonly ran: Ran
  readonly forget: () => void
}

/** Longer than any turn takes. */
const patience = 10_000
const never = new Promise<never>(() => {})
const yes: ApiReply = { content: [text('Yes.')] }
const failures: Readonly<Record<string, ApiFailure>> = {
  overloaded: { status: 529, type: 'overloaded_error', message: 'Overloaded' },
  retry: { status: 529, type: 'overloaded_error', message: 'Overloaded', retryAfter: 0.002 },
  failed: { status: 500, type: 'api_error', message: 'Internal server error' },
}

export const isSummary = ({ system }: ApiRequest): boolean =>
  typeof system === 'string' && system.startsWith('You summarize')

export const isChatSummary = ({ messages: [first] }: ChatBody): boolean =>
  typeof first?.content === 'string' && first.content.startsWith('You summarize')

export const player = async (world: World, index: number, thread: Thread): Promise<Player> => {
  let store = await world.openStore()
  let chat = store.conversation(`chat-${index}`)
  await chat.append({ role: 'user', content: 'Mend the parser.' })
  world.conversations.add(chat.id)
  const replies = [...thread.replies]
  const summaries = [...thread.summaries]
  const acts = [...thread.meanwhile]
  /** The innermost last. */
  const underWay: Place[] = []
  const endings = new Map<Ran, Promise<unknown>>()

  const abortAll = (): void => {
    for (const ran of endings.keys()) if (!ran.outcome) ran.abort()
  }

  const fork = async (back: number): Promise<Conversation> => {
    const at = Math.max(0, (await chat.position()) - back)
    const made = await chat.fork(`chat-${index}-fork-${++world.forks}`, { at })
    world.conversations.add(made.id)
    return made
  }

  const crash = async (place: Place | undefined): Promise<void> => {
    place?.forget()
    store = await world.openStore()
    chat = store.conversation(chat.id)
  }

  /** Resolves to whether everything has come to a stop there. */
  const perform = async (act: Act, place = underWay.at(-1)): Promise<boolean> => {
    if (act.type === 'crash') await crash(place)
    else if (act.type === 'abort') place?.ran.abort()
    else if (act.type === 'turn') await turn(act.options)
    else await outcomeOf<unknown>(act.type === 'fork' ? fork(act.back) : does(chat, act))
    return act.type === 'crash'
  }

  /** What happens in the middle of a turn, on this side of the API. */
  const during = async (act: Act | undefined, place: Place): Promise<void> => {
    if (act && (await perform(act, place))) await never
  }

  const turn = async (options: TurnPlan): Promise<void> => {
    const controller = new AbortController()
    const ran: Ran = {
      options,
      sent: [],
      outcome: undefined,
      abort: () => controller.abort('enough'),
      isAborted: () => controller.signal.aborted,
    }
    world.turns.push(ran)
    let events = 0
    const onEvent = (): void => {
      if (events++ === options.abortAt) ran.abort()
    }
    const crashed = Promise.withResolvers<undefined>()
    const forget = (): void => {
      crashed.resolve(undefined)
      // A process that has died continues nothing.
      controller.abort('dead')
    }
    const place = { ran, forget }
    underWay.push(place)
    const settings: TurnOptions = {
      ...optionsOf(world, ran, {
        index,
        window: thread.window,
        meanwhile: () => during(summaries.shift()?.meanwhile, place),
      }),
      run: agentTools(world.runs, () => during(acts.shift(), place)),
      signal: controller.signal,
      onEvent,
    }
    const turned = options.reads ? drained(chat.stream(settings), options.reads) : chat.turn(settings)
    const ended = outcomeOf(turned).then((outcome) => (ran.outcome = outcome))
    endings.set(ran, ended)
    try {
      await soon(Promise.race([ended, crashed.promise]))
    } finally {
      underWay.splice(underWay.indexOf(place), 1)
    }
  }

  /** What happens before a request is answered, and how the answer fails. */
  const faultOf = async (said: Said): Promise<Said['fault']> => {
    const hasStopped = said.meanwhile && (await perform(said.meanwhile))
    if (typeof said.fault === 'string') return said.fault
    // Nothing but an abort ends a call that stalls.
    if (said.fault?.kind === 'stall') setTimeout(abortAll, 3)
    return hasStopped ? { kind: 'stall' } : said.fault
  }

  const says = async (body: ApiRequest): Promise<ApiReply | ApiFailure> => {
    const said = (isSummary(body) ? summaries : replies).shift()
    if (!said) return { content: [...resultsFor(body), ...yes.content] }
    const fault = await faultOf(said)
    return typeof fault === 'string' ? (failures[fault] as ApiFailure) : replyOf(said, body, fault)
  }

  const saysInChat = async (body: ChatBody): Promise<ChatReply | ChatFailure> => {
    const said = (isChatSummary(body) ? summaries : replies).shift()
    if (!said) return { content: 'Yes.' }
    const fault = await faultOf(said)
    return typeof fault === 'string' ? (chatRefusals[fault] as ChatFailure) : chatReplyOf(said, fault)
  }

  return {
    says,
    saysInChat,
    play: async () => {
      for (const step of thread.steps) {
        if (step.type === 'turn') await turn(step.options)
        else if (step.type === 'fork') {
          const forked = await outcomeOf(fork(step.back))
          if ('value' in forked) chat = forked.value
        } else await perform(step)
      }
    },
    end: async () => {
      abortAll()
      await soon(Promise.all(endings.values()))
    },
  }
}

/** What a turn comes to that is read event by event. */
const drained = async (
  events: AsyncIterable<TurnEvent>,
  reads: NonNullable<TurnPlan['reads']>,
): Promise<TurnResult> => {
  let pauses = reads === 'slowly' ? 5 : 0
  for await (const event of events) {
    if (event.type === 'done') return event.turned
    if (pauses-- > 0) await sleep(2)
  }
  throw new Error('a stream of a turn has ended before the turn')
}

const replyOf = ({ content, stop, isSlow }: Said, body: ApiRequest, fault: ApiReply['fault']): ApiReply => ({
  content: [
    ...resultsFor(body),
    ...(body.thinking ? content : content.filter((block) => !isThinking(block))),
  ],
  ...(stop && { stop_reason: stop }),
  ...(fault && { fault }),
  ...(isSlow && { delay: 1 }),
})

const chatRefusals: Readonly<Record<string, ChatFailure>> = {
  overloaded: chatFailures.overloaded,
  retry: { ...chatFailures.overloaded, retryAfter: 0.002 },
  failed: chatFailures.broken,
}
const chatStops = {
  refusal: 'content_filter',
  max_tokens: 'length',
  end_turn: 'stop',
} as const

/** What a model says at Chat Completions: the texts and calls of the same reply, and its thoughts as reasoning. */
const chatReplyOf = ({ content, stop, isSlow }: Said, fault: ChatReply['fault']): ChatReply => {
  const texts = content.flatMap((block) => (block.type === 'text' ? String(block['text']) : []))
  const thoughts = content.filter(isThinking).map(({ thinking = '' }) => String(thinking))
  const calls = content.filter(({ type }) => type === 'tool_use')
  const reason = stop && stop in chatStops ? chatStops[stop as keyof typeof chatStops] : undefined
  return {
    ...(texts.length > 0 && { content: texts.join('') }),
    reasoning: thoughts.join(''),
    tool_calls: calls.map(({ name, input }) => ({ name: String(name), arguments: input })),
    ...(reason && { finish_reason: reason }),
    ...(fault && { fault }),
    ...(isSlow && { delay: 1 }),
  }
}

/** The results of the server tools that the request waits for. */
const resultsFor = ({ messages }: ApiRequest): readonly AnyBlock[] => {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const served = new Set(blocks.map((block) => block['tool_use_id']))
  return blocks.flatMap(({ type, id, name }): AnyBlock[] => {
    const isUse = type === 'server_tool_use' || type === 'mcp_tool_use'
    if (!isUse || served.has(id)) return []
    const result = type === 'mcp_tool_use' ? 'mcp' : String(name)
    return [{ type: `${result}_tool_result`, tool_use_id: id, content: [] }]
  })
}

const soon = async (done: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('a turn does not end')), patience)
  })
  try {
    await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The client of a turn: it numbers its requests, in a header that the stand-in records. */
const clientOf = (world: World, ran: Ran): TurnOptions['client'] => {
  const { chat } = ran.options
  return chat
    ? chatModel(
        new OpenAI({ baseURL: world.chat(), apiKey: 'key', fetch: numbering(world, ran, 'x-request-id') }),
        chat,
      )
    : new Anthropic({ baseURL: world.api(), apiKey: 'key', fetch: numbering(world, ran, 'request-id') })
}

export const chatModel = (client: OpenAI, { reasoning, images, system }: ChatPlan) =>
  openAiModel(client, {
    provider: 'stand-in',
    system,
    images,
    ...(reasoning && { reasoning: 'reasoning_content' }),
  })

const numbering =
  (world: World, { sent }: Ran, idHeader: string) =>
  async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const number = world.numberOf()
    const headers = new Headers(init?.headers)
    headers.set('x-number', String(number))
    const index = sent.push({ number, requestId: undefined }) - 1
    const response = await fetch(url, { ...init, headers })
    sent[index] = { number, requestId: response.headers.get(idHeader) ?? undefined }
    return response
  }

const optionsOf = (
  world: World,
  ran: Ran,
  { index, window, meanwhile }: { index: number; window: number; meanwhile: () => Promise<void> },
): TurnOptions => {
  const {
    model,
    system,
    tools,
    thinks,
    cache,
    keepPartial,
    keepLate,
    claimed,
    percentage,
    keepLast,
    maxCalls,
    budget,
    stopWhen,
    alternates,
  } = ran.options
  const named = (which: TurnPlan['model']): string => `model-${index}-${which}`
  return {
    client: clientOf(world, ran),
    model: named(model),
    ...(system !== 'none' && {
      system: system === 'string' ? 'You are an agent.' : [text('You are an agent.')],
    }),
    tools: toolsOf(toolSets[tools] ?? []),
    parameters: { max_tokens: ran.options.maxTokens, ...(thinks && { thinking: { type: 'adaptive' } }) },
    context: { window: Math.ceil(claimed * window), percentage, keepLast },
    summarizer: summarizerOf(ran.options.summarizer, index, meanwhile),
    cache,
    systemMessages: ran.options.systemMessages && model === 'a' && !alternates,
    keepPartial,
    keepLate,
    maxRetries: ran.options.retries,
    // What was forgotten here as if its process had died lives on.
    whileHeld: 'take',
    maxCalls,
    budget: { calls: budget },
    stopWhen,
    prepareStep: alternates ? ({ step }) => ({ model: named(step % 2 === 0 ? 'a' : 'b') }) : undefined,
  }
}

const aborted = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve())
  })

const summarizerOf = (
  kind: TurnPlan['summarizer'],
  index: number,
  meanwhile: () => Promise<void>,
): NonNullable<TurnOptions['summarizer']> => {
  const short = { maxTokens: 60, instructions: 'Sum it up.' }
  switch (kind) {
    case 'default':
      return {}
    case 'small':
      return short
    case 'other':
      return { ...short, model: `summary-${index}`, window: 700, pinned: ['Keep it.'] }
    case 'own':
      return async ({ signal }) => {
        await Promise.race([meanwhile(), aborted(signal)])
        return E.right({ blocks: [text('In short.')], origin: { model: 'own' } })
      }
    case 'throws':
      return () => Promise.reject(new Error('no summary'))
    case 'fails':
      return () => Promise.resolve(E.left(summaryFailed('none', 'there is no summary')))
    case 'off':
      return false
  }
}
