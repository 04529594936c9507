// What the compiler takes and what it refuses, as a program that uses the package. Nothing of it runs.
import type Anthropic from '@anthropic-ai/sdk'
import {
  type Block,
  type BlockInput,
  type Conversation,
  type CondenseInput,
  type ConfigureInput,
  type EventType,
  type FullWithNotes,
  type Item,
  type MessageInput,
  mcpTools,
  messagesOf,
  type Model,
  openStore,
  resultReader,
  type RewindInput,
  type TextBlock,
  type TurnEvent,
  tool,
  type ToolCall,
  type ToolSettings,
  type TruncateInput,
  type UnknownBlock,
  unknownBlock,
} from 'palimpsest'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { z } from 'zod'
import { isError as isRefused, openClient } from 'palimpsest/client'
import type { Command } from 'palimpsest/core'
import type { Conversation as TaskConversation, StoreError } from 'palimpsest/fp'

const store = await openStore('memory:')
const chat = store.conversation('c')
const hello = { role: 'user', content: 'Hello.' } as const

// One way to say where, and only one.
await chat.rewind({ to: 1 })
await chat.rewind({ before: 1, reason: 'again', after: 3 })
await chat.rewind({ turns: 2, commandId: 'k' })
// @ts-expect-error nothing says where
await chat.rewind({})
// @ts-expect-error two say where
await chat.rewind({ to: 1, before: 2 })
// @ts-expect-error two say where
await chat.rewind({ to: 1, turns: 2 })

await chat.condense({ summary: 'S.', covers: { first: 0, last: 1 } })
await chat.condense({ summary: 'S.', fraction: 0.5, keepLast: 2 })
await chat.truncate({ keepTokens: 100 })
await chat.truncate({})
// @ts-expect-error the slice is named and looked for
await chat.condense({ summary: 'S.', covers: { first: 0, last: 1 }, fraction: 0.5 })
// @ts-expect-error the slice is named and looked for
await chat.truncate({ covers: { first: 0, last: 1 }, keepLast: 2 })
// @ts-expect-error there is no summary
await chat.condense({ fraction: 0.5 })
// @ts-expect-error misspelt
await chat.truncate({ keepfirst: 1 })

await chat.append(hello, { branchAt: 1 })
await chat.append([hello], { rewindTo: 1, after: 3, tolerate: 'markers' })
// @ts-expect-error either a branch or a rewind
await chat.append(hello, { branchAt: 1, rewindTo: 1 })
// @ts-expect-error again goes with rewindTo
await chat.append(hello, { again: [] })
// @ts-expect-error a former name
await chat.append(hello, { beside: 1 })

await chat.configure({ system: null, model: 'claude-opus-5-5', tools: [{ name: 'read' }] })
// @ts-expect-error misspelt
await chat.configure({ sytem: 'S.' })
// @ts-expect-error misspelt
await chat.effective({ att: 1 })
// @ts-expect-error no time that cache breakpoints can live
await chat.render({ cache: '10m' })

// Blocks to write are closed.
await chat.append({
  role: 'user',
  content: [
    { type: 'text', text: 'Look.', cache_control: { type: 'ephemeral' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } },
    { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'done' }], is_error: true },
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    unknownBlock({ type: 'hologram', url: 'x' }),
  ],
})
// @ts-expect-error a misspelt type
await chat.append({ role: 'user', content: [{ type: 'txet', text: 'a' }] })
const inside = { type: 'tool_result', tool_use_id: 'a' } as const
// @ts-expect-error a misspelt type inside a result
await chat.append({ role: 'user', content: [{ ...inside, content: [{ type: 'txet' }] }] })
// @ts-expect-error a misspelt field
await chat.append({ role: 'user', content: [{ type: 'text', txt: 'a' }] })
// @ts-expect-error a field that no text has
await chat.append({ role: 'user', content: [{ type: 'text', text: 'a', size: 1 }] })
// @ts-expect-error no role
await chat.append({ role: 'tool', content: 'a' })
// @ts-expect-error a field that no message has
await chat.append({ role: 'user', content: 'a', name: 'x' })

/** What the SDK of the API gives and takes can be appended as it is. */
// What the SDK takes as tools and a system prompt is taken here.
export const asTheSdk = async (
  client: Anthropic,
  tools: Anthropic.Tool[],
  more: Anthropic.ToolUnion[],
  system: Anthropic.TextBlockParam[],
) => {
  await chat.configure({ tools, system })
  await chat.configure({ tools: more })
  await chat.turn({ client, model: 'claude-opus-5-5', tools, system })
  await chat.turn({ client, model: 'claude-opus-5-5', tools: more })
}
// @ts-expect-error the name of a tool is none
await chat.configure({ tools: ['read'] })

export const appendAny = (
  said: Anthropic.Message | Anthropic.Beta.BetaMessage,
  asked: Anthropic.MessageParam | Anthropic.Beta.BetaMessageParam,
) =>
  chat.append([
    asked,
    said,
    { role: 'user', content: asked.content ?? [] },
    { role: 'assistant', content: said.content },
  ])
/** A list that is written apart needs its type: the type of a block in it would be any text, misspelt or not. */
const apart: BlockInput[] = [{ type: 'text', text: 'a' }]
await chat.append({ role: 'user', content: apart })
const constant = [{ type: 'text', text: 'a' }] as const
await chat.append({ role: 'user', content: constant })
// @ts-expect-error a misspelt type
export const misspeltBlock: BlockInput[] = [{ type: 'txet', text: 'a' }]
// @ts-expect-error a user says something
await chat.append({ role: 'user' })

/** What is rendered goes to the SDK as it is, and comes back. */
export const sendRendered = async (client: Anthropic) => {
  const { messages, awaits, repairs, ...more } = await chat.render()
  const body = { model: 'claude-opus-5-5', max_tokens: 1_024 }
  const asked: Anthropic.MessageParam[] = messages
  const askedBeta: Anthropic.Beta.BetaMessageParam[] = messages
  await client.messages.create({ ...body, messages: asked })
  await client.beta.messages.create({ ...body, messages: askedBeta })
  await client.messages.create({ ...body, ...more, messages, stream: true })
  await client.beta.messages.create({ ...body, ...more, messages })
  await client.messages.countTokens({ model: body.model, ...more, messages })
  await chat.append(messages)
  return [awaits, repairs.length]
}

/** Blocks that are read narrow by their type, those that nobody knows stay. */
export const wordOf = (block: Block): string => {
  if (block.type === 'text') return block.text
  if (block.type === 'tool_use') return `${block.name} ${block.id} ${JSON.stringify(block.input)}`
  if (block.type === 'thinking') return block.thinking + (block.signature ?? '')
  if (block.type === 'server_tool_use') return String(block['from_the_future'])
  if (block.type === 'image') return block.source.data ?? ''
  if (block.type !== 'tool_result') return block.type
  return typeof block.content === 'string' ? block.content : (block.content ?? []).map(wordOf).join('')
}
const { type } = {} as Block
// @ts-expect-error no type that the API has
export const isMisspelt = type === 'txet'
/** The way to ask for a type that the types don't know. */
export const isHologram = (type as string) === 'hologram'

const items = await chat.effective()
export const texts: readonly string[] = items
  .flatMap(messagesOf)
  .flatMap(({ content }) => content)
  .flatMap((block) => (block.type === 'text' ? [block.text] : []))
export const text: TextBlock | undefined = items
  .flatMap(messagesOf)
  .flatMap(({ content }) => content)
  .find((block): block is TextBlock => block.type === 'text')
export const unknown: UnknownBlock = unknownBlock({ type: 'hologram' })
/** What was read can be written. */
export const copied = (): Promise<unknown> =>
  chat.append(items.flatMap(messagesOf).map(({ role, content }): MessageInput => ({ role, content })))
export const written: readonly BlockInput[] = [] as readonly Block[]

// The types say what the schemas check: every input is a command's, and has all its fields.
type Checked<T extends Command['type']> = Omit<Command<T>, 'type'>
type Fields<T> = T extends unknown ? keyof T : never
type Envelope =
  | 'commandId'
  | 'salt'
  | 'actor'
  | 'now'
  | 'correlationId'
  | 'causationId'
  | 'interrupts'
  | 'answer'
  | 'workspace'
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
export const same: readonly true[] = [
  true satisfies Same<Fields<RewindInput>, keyof Checked<'rewind'> | Envelope>,
  true satisfies Same<Fields<CondenseInput>, keyof Checked<'condense'> | Envelope>,
  true satisfies Same<Fields<TruncateInput>, keyof Checked<'truncate'> | Envelope>,
  true satisfies Same<Fields<ConfigureInput>, keyof Checked<'configure'> | Envelope>,
  // The schema lets every field of a message pass; the type knows this one.
  true satisfies Same<
    Exclude<Fields<MessageInput>, 'output_config'> | 'sealed',
    keyof Command<'append'>['messages'][number]
  >,
]
export const rewinding = (input: RewindInput): Checked<'rewind'> => input
export const truncating = (input: TruncateInput): Checked<'truncate'> => input

// Each writer fails with what it can fail with, and nothing else.
type Write = (
  ...args: never
) => () => Promise<{ readonly _tag: 'Left'; readonly left: unknown } | { readonly _tag: 'Right' }>
type Tags<W extends Write> = Exclude<
  Extract<Awaited<ReturnType<ReturnType<W>>>, { readonly _tag: 'Left' }> extends { readonly left: infer E }
    ? E extends { readonly _tag: infer Tag }
      ? Tag
      : never
    : never,
  StoreError['_tag']
>
type Any = 'InvalidInput' | 'EventTooLarge' | 'ConversationNotFound'
type Hiding = Any | 'StaleContext' | 'NotShown' | 'UnsafeCut' | 'NothingToHide'
export const tags: readonly true[] = [
  true satisfies Same<Tags<TaskConversation['append']>, Any | 'StaleContext' | 'OutOfRange'>,
  true satisfies Same<Tags<TaskConversation['configure']>, Any | 'StaleContext'>,
  true satisfies Same<Tags<TaskConversation['condense']>, Hiding>,
  true satisfies Same<Tags<TaskConversation['truncate']>, Hiding>,
  true satisfies Same<Tags<TaskConversation['restore']>, Any | 'StaleContext' | 'NotShown'>,
  true satisfies Same<
    Tags<TaskConversation['rewind']>,
    Any | 'StaleContext' | 'OutOfRange' | 'NothingToRewind'
  >,
  true satisfies Same<Tags<TaskConversation['undo']>, Any | 'StaleContext' | 'NothingToUndo'>,
  true satisfies Same<Tags<TaskConversation['fork']>, Any | 'OutOfRange' | 'ConversationExists'>,
]

export const handle: Conversation = chat

await chat.link({ relation: 'continues', conversation: 'd' })
await chat.link({ relation: 'continues', ref: 'yesterday' })
// @ts-expect-error the other end is not named
await chat.link({ relation: 'continues' })
// @ts-expect-error a note has a kind
await chat.note({ data: 1 })

// What a tool gets is what its schema says.
const input = z.object({
  city: z.string(),
  at: z
    .string()
    .transform((at) => new Date(at))
    .optional(),
})
const weather = tool({
  name: 'weather',
  description: 'Says the weather.',
  input,
  run: ({ city, at }, { signal, progress }) => {
    city satisfies string
    at satisfies Date | undefined
    progress(`${signal.aborted}`)
  },
  approve: async ({ input: { city } }) => city.length > 3,
  effect: 'none',
  timeout: 1_000,
})
const about = { name: 'a', description: 'A.', input }
// @ts-expect-error the schema promises another input
tool({ ...about, run: ({ city }: { city: number }) => city })
// @ts-expect-error the schema promises no such field
tool({ ...about, run: ({ town }) => town })
// @ts-expect-error nor for the one who approves
tool({ ...about, run: () => '', approve: ({ input: { town } }) => town })
// @ts-expect-error no schema
tool({ name: 'a', description: 'A.', run: () => '' })
// @ts-expect-error a JSON schema is none
tool({ name: 'a', description: 'A.', input: { type: 'object' }, run: () => '' })
// @ts-expect-error nothing carries it out
tool(about)
// @ts-expect-error no such effect
tool({ ...about, run: () => '', effect: 'small' })
// @ts-expect-error misspelt
tool({ ...about, run: () => '', timeuot: 5 })
/** A client of the SDK is one. */
export const ofServer = (server: Client) =>
  mcpTools(server, { prefix: 'a_', approve: ({ name }) => name !== 'a_b' })
// @ts-expect-error misspelt
export const misspelt = (server: Client) => mcpTools(server, { trustHint: true })
// @ts-expect-error a URL is no client
export const unconnected = () => mcpTools('http://127.0.0.1:3000/mcp')
export const turning = async (client: Model) =>
  chat.turn({ client, model: 'm', tools: [weather, resultReader(chat), { name: 'b' }], run: { b: () => '' } })
export const approving: ToolSettings = {
  run: (given: { path: string }) => given.path,
  approve: ({ input: given }: ToolCall<{ path: string }>) => given.path !== '',
}

const entries = await chat.full({ notes: true })
for (const entry of entries) if (entry.kind === 'note') entry.note.kind satisfies string
/** Options may come from a variable: the type says notes wherever some may come, and entries only where none does. */
export const fullWith = async (asked: Conversation, wide: FullWithNotes) => {
  const options = { notes: true, last: 3 }
  const [first] = await asked.full(options)
  // @ts-expect-error it may be a note
  const status: string | undefined = first?.status
  const [second] = await asked.full(wide)
  // @ts-expect-error it may be a note
  const other: string | undefined = second?.status
  const none = { last: 3, abandoned: true }
  const [third] = await asked.full(none)
  const [fourth] = await asked.full({ notes: false })
  return [status, other, third?.status, fourth?.status]
}
/** Whether notes are wanted may be known at run time only. */
export const fullOf = async (asked: Conversation, tasks: TaskConversation, notes: boolean) => {
  for (const entry of await asked.full({ notes, last: 3 })) if (entry.kind === 'note') return entry.note
  return tasks.full({ notes })
}

/** Every event of a turn narrows by its type, without a cast, and there are no others. */
export const told = (event: TurnEvent): string => {
  switch (event.type) {
    case 'text':
      return event.text
    case 'thinking':
      return event.thinking
    case 'tool-input':
      return event.call + event.tool + event.json
    case 'tool-started':
      return `${event.tool} ${JSON.stringify(event.input)}`
    case 'tool-progress':
      return event.text
    case 'tool-ended':
    case 'tool-failed':
      return `${event.ms} ${typeof event.content === 'string' ? event.content : event.content.map(wordOf).join('')}`
    case 'condensed':
    case 'truncated':
      return `${event.position} ${event.covers.first}`
    case 'retrying':
      return `${event.error._tag} ${event.wait} ${event.try}`
    case 'waiting':
      return (
        event.why + event.calls.map((each) => each.call + each.tool + JSON.stringify(each.input)).join('')
      )
    case 'held':
      return event.by
    case 'reply':
      return `${event.position} ${event.content.map(wordOf).join('')} ${event.usage.output} ${event.stopReason}`
    case 'done':
      return `${event.turned.usage.usd ?? 'unknown'} ${event.turned.tools.map(({ ms }) => ms).join()}`
    default:
      return event satisfies never
  }
}
export const toldAll = async (client: Anthropic, tasks: TaskConversation): Promise<void> => {
  const options = { client, model: 'claude-opus-5-5', budget: { calls: 5, tokens: 1_000, usd: 0.5 } }
  for await (const event of chat.stream(options)) told(event)
  for await (const event of tasks.stream(options)) told(event)
  // @ts-expect-error there is no such event
  for await (const event of chat.stream(options)) if (event.type === 'tool-done') break
  // @ts-expect-error misspelt
  await chat.turn({ ...options, budget: { call: 5 } })
  const { ended } = await chat.turn({
    ...options,
    stopWhen: ({ calls, results, number }) => calls.length === results.length && number > 3,
    prepareStep: async ({ step, usage }) => (step > usage.calls ? { model: 'claude-haiku-5-5' } : undefined),
    onStep: ({ reply, total }) => void [reply.position, total.usd],
  })
  ended satisfies 'stop' | 'stop-when' | 'tool-choice' | 'waiting'
  await chat.turn({ ...options, stopWhen: ['final_answer'] })
  // @ts-expect-error no setting of a step
  await chat.turn({ ...options, prepareStep: () => ({ maxCalls: 1 }) })
}

export const overHttp = async (): Promise<void> => {
  const task = openClient('http://127.0.0.1:4141', { token: 'pal_x' }).conversation('task-42')
  const seen: readonly Item[] = await task.effective({ at: 1 })
  const { position, events } = await task.append({ role: 'user', content: 'x' }, { after: seen.length })
  position satisfies number
  events[0]?.type satisfies EventType | undefined
  // @ts-expect-error misspelt
  await task.rewind({ too: 1 })
  // @ts-expect-error nothing of a model: a worker answers
  for await (const _ of task.turn({ role: 'user', content: 'x' }, { model: 'claude-opus-5-5' })) break
  for await (const message of task.turn(undefined, { tenant: 'acme', priority: 1 })) {
    if (message.type === 'text') message.text satisfies string
    if (message.type === 'outcome' && message.outcome === 'waiting')
      message.calls[0]?.tool satisfies string | undefined
    // @ts-expect-error there is no such message
    if (message.type === 'done') break
  }
  await task.fork('b').catch((error: unknown) => {
    if (isRefused(error, 'ConversationExists')) error.conversation satisfies string
    if (isRefused(error, 'Forbidden')) error.message satisfies string
    if (isRefused(error)) error._tag satisfies string
    // @ts-expect-error there is no such error
    isRefused(error, 'Stale')
  })
}
