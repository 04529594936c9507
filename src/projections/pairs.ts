import { isBlock, type KnownBlock } from '../events/blocks.ts'
import type { Effective } from './effective.ts'
import { atOnce, type SliceGenerator } from './slices.ts'
import {
  callersIn,
  clean,
  isCompaction,
  isThinking,
  pairServerTools,
  type Utterance,
  utterancesIn,
} from './render/renderer.ts'
import {
  type LateCalls,
  lateCalls,
  type OpenCalls,
  openCalls,
  type SettledCalls,
  createSettledCalls,
  type UnansweredCall,
} from './waiting-calls.ts'

/**
 * A tool call, with the positions of the events that contain the call (`use`) and its result. `result` is absent until a result
 * arrives. Server tool calls are included only if the use and the result are in different messages.
 */
export interface ToolCallPair {
  readonly id: string
  readonly use: number
  readonly result?: number
  /** Set if the conversation continued without the result, which is shown as text at its own position. */
  readonly isLate?: true
}

/**
 * Returns the tool calls of a history with their results, in the order in which the calls end. Omits a call if the conversation
 * continued without its result and the result never came. Pairs calls in the same way as every request, without building a request (ADR
 * 11).
 */
export const toolCalls = (effective: Effective): readonly ToolCallPair[] =>
  atOnce(toolCallsInSlices(effective))

/** Computes the same as `toolCalls`, in slices of work. */
export function* toolCallsInSlices(effective: Effective): SliceGenerator<readonly ToolCallPair[]> {
  const talk: Talk = {
    paired: [],
    made: 0,
    open: openCalls(),
    late: lateCalls(),
    settled: createSettledCalls(),
    isTold: false,
    servers: new Map(),
    ids: new Set(),
    last: undefined,
    reply: undefined,
  }
  for (const item of effective.items) {
    for (const said of utterancesIn(item, true, true)) hear(talk, said)
    // One item may contain many messages.
    yield
  }
  return [
    ...talk.paired,
    ...talk.open.list().map(({ storedId, position }) => ({ id: storedId, use: position })),
    ...Array.from(talk.servers, ([id, use]): ToolCallPair => ({ id, use })),
  ]
}

/** State of the pairing of calls with results, after the messages processed so far. Changed in place. */
interface Talk {
  readonly paired: ToolCallPair[]
  /** Number of calls and rounds so far. */
  made: number
  readonly open: OpenCalls<UnansweredCall>
  readonly late: LateCalls<UnansweredCall & { readonly message: number }>
  readonly settled: SettledCalls<UnansweredCall>
  /** True if a late result of a settled call has arrived. The result is shown as soon as no call is open. */
  isTold: boolean
  /** Positions of server tool uses that have no result yet, by id. */
  readonly servers: Map<string, number>
  /** All tool call ids in use. */
  readonly ids: Set<string>
  last: 'assistant' | 'user' | undefined
  /** The last assistant message. */
  reply: Utterance | undefined
}

const ignore = (): void => undefined

const hear = (talk: Talk, said: Utterance): void => {
  const { role, position, summary } = said
  const all = clean(said.content, role, position, ignore)
  const compaction = summary ? all.findLastIndex(isCompaction) : -1
  if (compaction >= 0) {
    for (const past of [talk.open, talk.late, talk.settled, talk.servers, talk.ids]) past.clear()
    talk.isTold = false
    talk.last = undefined
  }
  const content = all.slice(Math.max(0, compaction)).filter((block) => summary || !isCompaction(block))
  if (role === 'assistant') hearAssistant(talk, said, content)
  else hearUser(talk, position, clean(content, 'user', position, ignore))
}

const hearUser = (talk: Talk, position: number, content: Utterance['content']): void => {
  for (const block of content) if (isBlock(block, 'tool_result')) answer(talk, block, position)
  const isOver = talk.isTold && talk.open.size() === 0
  if (!isOver && content.every(({ type }) => type === 'tool_result')) return
  endTurn(talk)
}

/** Ends the turn, because someone other than the model and its tools speaks. */
const endTurn = (talk: Talk): void => {
  endRound(talk)
  settleLate(talk)
  dropServers(talk, () => true)
  talk.isTold = false
  talk.last = 'user'
}

/** Settles late calls: results that arrive later are shown separately from their calls. */
const settleLate = ({ late, settled }: Talk): void => {
  for (const call of late.list()) settled.add(call)
  late.clear()
}

/**
 * Pairs a result with the first call that it may belong to: an open call if possible, otherwise a call whose result the assistant did
 * not wait for.
 */
const answer = (talk: Talk, block: KnownBlock<'tool_result'>, result: number): void => {
  const { tool_use_id: id } = block
  const { open, settled, paired } = talk
  const missed = open.has(id) ? undefined : talk.late.find(id)
  if (missed) open.reopen(talk.late.takeFrom(missed.message))
  const call = open.take(id)
  const settledCall = call ? undefined : settled.take(block)
  if (settledCall) {
    talk.isTold = true
    paired.push({ id, use: settledCall.position, result, isLate: true })
  }
  if (!call) return
  if (block.is_error === true) settled.add(call, block.content)
  paired.push({ id, use: call.position, result })
  talk.last = 'user'
}

const hearAssistant = (talk: Talk, said: Utterance, all: Utterance['content']): void => {
  const { open, late, servers, ids, reply, paired } = talk
  const { position } = said
  const isSameReply = said.reply === reply?.reply
  const isPart = isSameReply && said.reply !== undefined
  // Consecutive calls are made in parallel and recorded one by one.
  const isBeside = (): boolean =>
    isPart || (!late.wereSent(said) && !open.wereSent(said) && all.some(({ type }) => type === 'tool_use'))
  const isJoined = talk.last === 'assistant' && (open.size() === 0 || isBeside())
  const before = { waiting: servers, used: ids, isSameMessage: isJoined }
  const { content, served, opened } = pairServerTools(all, said.content, before, position, ignore)
  if (content.every(isThinking)) return
  const callers = callersIn(content)
  if (!isJoined || !isSameReply || (!isPart && reply?.paused !== false))
    dropServers(talk, (id) => !served.has(id) && !callers.has(id))
  if (talk.last !== 'assistant') settleLate(talk)
  if (!isJoined) endRound(talk)
  if (late.wereSent(said)) settleLate(talk)
  for (const block of content)
    if (isBlock(block, 'tool_use')) {
      open.add({ storedId: block.id, position, nth: ++talk.made })
      ids.add(block.id.replace(/[^a-zA-Z0-9_-]/g, '_'))
    }
  for (const id of served) {
    ids.add(id)
    const use = servers.get(id)
    if (use !== undefined) paired.push({ id, use, result: position })
    servers.delete(id)
  }
  for (const { id } of opened) {
    ids.add(String(id))
    servers.set(String(id), position)
  }
  talk.last = 'assistant'
  talk.reply = said
}

/** Ends the round: the assistant does not wait for the results of its open calls, but they may still come. */
const endRound = (talk: Talk): void => {
  const message = ++talk.made
  for (const call of talk.open.list()) talk.late.add({ ...call, message })
  talk.open.clear()
}

/** Drops server tool uses whose results can no longer come. */
const dropServers = ({ servers, ids }: Talk, isLost: (id: string) => boolean): void => {
  for (const id of servers.keys())
    if (isLost(id)) {
      servers.delete(id)
      ids.delete(id)
    }
}
