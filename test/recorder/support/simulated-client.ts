import { randomUUID } from 'node:crypto'
import type { ModelExchange } from '../../../src/recorder/exchange.ts'

// A program that calls a model and changes its history as real clients do: docs/record.md lists the changes.

type Block = Readonly<Record<string, unknown>>
export interface SimulatedMessage {
  readonly role: string
  readonly content: string | readonly Block[]
  readonly [field: string]: unknown
}

/** A call that the client makes, with the ways in which the recorder may name it. */
export interface SimulatedCall {
  readonly exchange: ModelExchange
  /** The body as text. */
  readonly text: string
  readonly labels: readonly string[]
  readonly isAnswered: boolean
}

export interface SimulatedClient {
  /** Returns the next calls; several if they are made at the same time. */
  readonly next: () => readonly SimulatedCall[]
}

/** Returns random numbers below a limit. */
export type RandomNumber = (limit: number) => number

/** A small generator of random numbers: the same seed gives the same numbers. */
export const randomFrom = (seed: number): RandomNumber => {
  let state = seed | 0
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

const words = 'the parser reads a line and keeps its string until it is closed by another quote mark'.split(
  ' ',
)
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Options {
  readonly random: RandomNumber
  /** True if the client names its session in a header. */
  readonly isNamed: boolean
  /** Time that all clients share, in milliseconds. */
  readonly clock: { now: number }
}

/** A client of the Messages API with tools. */
export const simulatedClient = ({ random, isNamed, clock }: Options): SimulatedClient => {
  const session = `${random(2 ** 30)}-${randomUUID()}`
  const agent = isNamed ? 'claude-cli/2.1.332 (external, cli)' : 'pi/1.6.0'
  let count = 0
  const id = (): string => `${session.slice(0, 8)}${++count}`
  const text = (length: number): string =>
    `${id()} ${Array.from({ length }, () => words[random(words.length)]).join(' ')}`
  const tools = [
    { name: 'Bash', description: 'Runs a command.', input_schema: { type: 'object' } },
    { name: 'Read', description: 'Reads a file.', input_schema: { type: 'object' } },
  ]
  let model = 'claude-opus-5-5'
  let messages: SimulatedMessage[] = []
  /** Lengths of the history after each reply to which the client can return. */
  let turns: number[] = []
  let subagents = 0

  /** Marks the last block of the last two user messages, as a block only while it is marked. */
  const marked = (list: readonly SimulatedMessage[]): readonly SimulatedMessage[] => {
    const users = new Set(list.flatMap(({ role }, index) => (role === 'user' ? [index] : [])).slice(-2))
    return list.map((message, index) => {
      if (!users.has(index)) return message
      const blocks =
        typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
      const last = blocks.length - 1
      return {
        ...message,
        content: blocks.map((block, at) =>
          at === last ? { ...block, cache_control: { type: 'ephemeral' } } : block,
        ),
      }
    })
  }

  const bodyOf = (list: readonly SimulatedMessage[], more: object = {}): string =>
    JSON.stringify({
      model,
      messages: marked(list),
      system: [
        { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.332; cch=${random(2 ** 20)};` },
        { type: 'text', text: 'You are a careful engineer.', cache_control: { type: 'ephemeral' } },
      ],
      tools,
      metadata: {
        user_id: JSON.stringify({
          device_id: 'd-1',
          account_uuid: 'a-1',
          ...(isNamed && { session_id: session }),
        }),
      },
      max_tokens: 32_000,
      stream: false,
      ...more,
    })

  interface Outcome {
    readonly status?: number
    readonly isWhole?: boolean
    readonly headers?: Readonly<Record<string, string>>
    readonly at?: readonly [begun: number, ended: number]
  }
  const callOf = (
    body: string,
    content: readonly Block[],
    labels: readonly string[],
    { status = 200, isWhole = true, headers = {}, at }: Outcome = {},
  ): SimulatedCall => {
    const [begun, ended] = at ?? [clock.now, clock.now + 5]
    clock.now = Math.max(clock.now, ended) + 1
    const reply = {
      type: 'message',
      id: `msg_${id()}`,
      role: 'assistant',
      model,
      content,
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 2 },
    }
    return {
      text: body,
      labels,
      isAnswered: status === 200 && isWhole,
      exchange: {
        path: '/v1/messages',
        headers: {
          'User-Agent': agent,
          Authorization: 'Bearer sk-ant-canary',
          ...(isNamed && { 'X-Claude-Code-Session-Id': session }),
          ...headers,
        },
        body: bytesOf(body),
        begun: new Date(begun),
        ended: new Date(ended),
        reply: {
          status,
          headers: { 'Content-Type': 'application/json' },
          body: bytesOf(JSON.stringify(status === 200 ? reply : { type: 'error' })),
          isWhole,
        },
      },
    }
  }

  /** Returns a reply: text, sometimes with thinking, or calls of tools. */
  const replyOf = (): readonly Block[] => {
    const thinking = random(4) === 0 ? [{ type: 'thinking', thinking: text(4), signature: id() }] : []
    if (random(2) === 0) return [...thinking, { type: 'text', text: text(12) }]
    const calls = Array.from({ length: 1 + random(3) }, () => ({
      type: 'tool_use',
      id: `toolu_${id()}`,
      name: 'Bash',
      input: { command: text(3), background: random(2) === 0 },
    }))
    return [...thinking, ...(random(2) === 0 ? [{ type: 'text', text: text(5) }] : []), ...calls]
  }
  const callsIn = ({ content }: SimulatedMessage): readonly Block[] =>
    typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_use')

  /** Makes a call with the present history, and appends its reply. */
  const ask = (labels: readonly string[]): readonly SimulatedCall[] => {
    const body = bodyOf(messages)
    const calls: SimulatedCall[] = []
    const luck = random(40)
    let now = labels
    if (luck === 0) {
      calls.push(callOf(body, [], now, { status: 529 }))
      now = ['repeat']
    }
    const reply = replyOf()
    if (luck === 1) {
      calls.push(callOf(body, reply, now, { isWhole: false }))
      now = ['repeat']
    }
    calls.push(callOf(body, reply, now))
    messages.push({ role: 'assistant', content: reply })
    return calls
  }

  /** Appends what comes after a reply: the results of its calls, or a prompt. */
  const answer = (): void => {
    const last = messages.at(-1)
    const calls = last?.role === 'assistant' ? callsIn(last) : []
    if (calls.length > 0)
      messages.push({
        role: 'user',
        content: calls.map(({ id: call }) => ({
          tool_use_id: call,
          type: 'tool_result',
          content: `${text(20)}${random(5) === 0 ? '\n<system-reminder>1 of 9</system-reminder>' : ''}`,
        })),
      })
    else {
      turns.push(messages.length)
      messages.push({ role: 'user', content: text(10) })
      if (random(5) === 0) messages.push({ role: 'system', content: [], output_config: { effort: 'low' } })
    }
  }

  const first = (): readonly SimulatedCall[] => {
    messages = [{ role: 'user', content: `Everybody begins like this. ${random(2) === 0 ? '' : id()}` }]
    turns = []
    return ask(['begin'])
  }

  const change = (index: number, content: SimulatedMessage['content']): void => {
    messages[index] = { ...(messages[index] as SimulatedMessage), content }
  }
  const results = (): readonly number[] =>
    messages.flatMap(({ content }, index) =>
      typeof content !== 'string' && content.some(({ type }) => type === 'tool_result') ? [index] : [],
    )

  const append = (): readonly SimulatedCall[] => {
    answer()
    return ask(['append'])
  }
  const blocksAt = (index: number): readonly Block[] => {
    const { content = [] } = messages[index] ?? {}
    return typeof content === 'string' ? [] : content
  }

  const actions: Readonly<Record<string, () => readonly SimulatedCall[]>> = {
    append,
    switchModel: () => {
      model = model === 'claude-opus-5-5' ? 'claude-sonnet-5' : 'claude-opus-5-5'
      answer()
      return ask(['append'])
    },
    rewind: () => {
      const to = turns[random(turns.length)]
      if (to === undefined || to < 2) return append()
      messages.length = to
      turns = turns.filter((turn) => turn < to)
      answer()
      // Within what a compaction kept, no position of the log has that history.
      return ask(['rewind', 'truncate'])
    },
    remind: () => {
      const [index] = results()
      if (index === undefined) return append()
      const blocks = blocksAt(index)
      change(
        index,
        blocks.map((block) => ({
          ...block,
          content: `${String(block['content']).split('\n<')[0]}\n<system-reminder>${id()}</system-reminder>`,
        })),
      )
      answer()
      return ask(['edit'])
    },
    clear: () => {
      const old = results().slice(0, -1)
      if (old.length === 0) return append()
      let changed = 0
      for (const index of old) {
        const blocks = blocksAt(index)
        if (blocks.some(({ content }) => content !== '[Old tool result content cleared]')) changed++
        change(
          index,
          blocks.map((block) => ({ ...block, content: '[Old tool result content cleared]' })),
        )
      }
      answer()
      return ask([changed > 0 ? 'edit' : 'append'])
    },
    forgetThinking: () => {
      const index = messages.findIndex(
        ({ content }) => typeof content !== 'string' && content[0]?.['type'] === 'thinking',
      )
      if (index < 0) return append()
      change(index, blocksAt(index).slice(1))
      answer()
      return ask(['edit'])
    },
    addDefaults: () => {
      const last = messages.at(-1)
      if (!last || last.role !== 'assistant' || callsIn(last).length === 0) return append()
      change(
        messages.length - 1,
        (last.content as readonly Block[]).map((block) =>
          block['type'] === 'tool_use'
            ? { ...block, input: { all: false, ...(block['input'] as object) } }
            : block,
        ),
      )
      answer()
      return ask(['edit'])
    },
    cutMiddle: () => {
      const [from, to] = [turns[1], turns[2]]
      if (from === undefined || to === undefined || turns.length < 4) return append()
      messages.splice(from, to - from)
      turns = [...turns.slice(0, 1), ...turns.slice(2).map((turn) => turn - (to - from))]
      answer()
      return ask(['truncate'])
    },
    compact: () => compact(false),
    compactTail: () => compact(true),
    title: () => {
      const body = JSON.stringify({
        model: 'claude-haiku-5',
        max_tokens: 32,
        system: 'Write a title.',
        messages: [{ role: 'user', content: text(6) }],
      })
      return [callOf(body, [{ type: 'text', text: 'A title' }], ['begin', 'append', 'rewind'])]
    },
    subagents: () => {
      if (!isNamed) return append()
      answer()
      const agents = [++subagents, ++subagents].map((n) => ({
        headers: { 'X-Claude-Code-Agent-Id': `agent-${n}` },
        list: [{ role: 'user', content: text(8) }] as SimulatedMessage[],
      }))
      const calls: SimulatedCall[] = []
      for (let round = 0; round < 2; round++)
        for (const { headers, list } of agents) {
          const content = [{ type: 'text', text: text(8) }]
          calls.push(callOf(bodyOf(list), content, [round === 0 ? 'begin' : 'append'], { headers }))
          list.push({ role: 'assistant', content }, { role: 'user', content: text(4) })
        }
      return [...calls, ...ask(['append'])]
    },
    suggest: () => {
      // A suggestion is asked for while the main call is open, with the same history.
      answer()
      const start = clock.now
      const before = [...messages]
      const main = ask(['append'])
      const [call] = main
      if (main.length > 1 || !call) return main
      const side = bodyOf([
        ...before.slice(0, -1),
        { role: 'user', content: `Suggest the next prompt. ${id()}` },
      ])
      const at = [start + 1, clock.now + 3] as const
      return [...main, callOf(side, [{ type: 'text', text: text(3) }], ['fork', 'rewind', 'begin'], { at })]
    },
  }

  function compact(keepsTail: boolean): readonly SimulatedCall[] {
    if (messages.length < 8) return append()
    const asked = { role: 'user', content: 'CRITICAL: Respond with TEXT ONLY. Summarize.' }
    const summary = `${text(30)}\n${text(30)}`
    const body = bodyOf([...messages, asked])
    const side = isNamed
      ? callOf(body, [{ type: 'text', text: `<summary>\n${summary}\n</summary>` }], ['summary'])
      : callOf(
          JSON.stringify({
            model,
            max_tokens: 99,
            system: 'You are a context summarization assistant.',
            messages: [{ role: 'user', content: `The conversation: ${JSON.stringify(messages)}` }],
          }),
          [{ type: 'text', text: summary }],
          ['summary'],
        )
    const opening = isNamed
      ? 'This session is being continued from a previous conversation.'
      : 'The conversation history before this point was compacted into the following summary:'
    const tailFrom = keepsTail
      ? (turns.findLast((turn) => turn < messages.length - 2) ?? messages.length)
      : messages.length
    const tail = messages.slice(tailFrom)
    const last = messages.at(-1)
    // Calls without results are not kept.
    const kept = last && callsIn(last).length > 0 ? [] : tail
    messages = [{ role: 'user', content: `${opening}\n\n${summary}` }, ...kept]
    turns = kept.length > 0 ? [1] : []
    if (kept.length === 0) messages.push({ role: 'assistant', content: [{ type: 'text', text: text(4) }] })
    answer()
    return [side, ...ask(['condense'])]
  }

  const often = ['append', 'append', 'append', 'append', 'append', 'append', 'append', 'append']
  const names = [...often, ...Object.keys(actions)]
  return {
    next: () =>
      messages.length === 0 ? first() : (actions[names[random(names.length)] ?? 'append'] ?? first)(),
  }
}

/** The body without the ids of accounts, which are not recorded. */
export const withoutAccount = (text: string): string => {
  const { client_metadata: _, ...body } = JSON.parse(text) as {
    client_metadata?: object
    metadata?: { user_id: string }
  }
  if (!body.metadata) return JSON.stringify(body)
  const { session_id: session } = JSON.parse(body.metadata.user_id) as { session_id?: string }
  const user = session === undefined ? '' : JSON.stringify({ session_id: session })
  return JSON.stringify({ ...body, metadata: { user_id: user } })
}
