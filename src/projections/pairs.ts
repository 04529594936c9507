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
  settledCalls,
  type UnansweredCall,
} from './waiting-calls.ts'

/**
 * A tool call, by the positions of the events that make and answer it; without `result` it has no answer yet. Calls of a server tool are
 * included only if use and result are not in one message.
 */
export interface ToolCallPair {
  readonly id: string
  readonly use: number
  readonly result?: number
  /** The conversation continued without the result, which is shown as text where it came. */
  readonly isLate?: true
}

/**
 * The tool calls of a history with their results, in the order of their ends. A call is left out if the conversation continued without
 * its result and that never came. No request is made to tell them, but every request pairs them so (ADR 11).
 */
export const toolCalls = (effective: Effective): readonly ToolCallPair[] => atOnce(pairing(effective))

/** `toolCalls`, in slices. */
export function* pairing(effective: Effective): SliceGenerator<readonly ToolCallPair[]> {
  const talk: Talk = {
    paired: [],
    made: 0,
    open: openCalls(),
    late: lateCalls(),
    settled: settledCalls(),
    isTold: false,
    servers: new Map(),
    ids: new Set(),
    last: undefined,
    reply: undefined,
  }
  for (const item of effective.items) {
    for (const said of utterancesIn(item, true, true)) hear(talk, said)
    // An item may say much.
    yield
  }
  return [
    ...talk.paired,
    ...talk.open.list().map(({ storedId, position }) => ({ id: storedId, use: position })),
    ...Array.from(talk.servers, ([id, use]): ToolCallPair => ({ id, use })),
  ]
}

/** What was said so far, reduced to what matters to calls. Changed in place. */
interface Talk {
  readonly paired: ToolCallPair[]
  /** How many calls and rounds there were. */
  made: number
  readonly open: OpenCalls<UnansweredCall>
  readonly late: LateCalls<UnansweredCall & { readonly message: number }>
  readonly settled: SettledCalls<UnansweredCall>
  /** A late result of a settled call came, and is shown as soon as no call is open. */
  isTold: boolean
  /** The positions of the server tool uses without a result so far, by id. */
  readonly servers: Map<string, number>
  /** All ids in use. */
  readonly ids: Set<string>
  last: 'assistant' | 'user' | undefined
  /** The last thing that the assistant said. */
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

/** Somebody else than the model and its tools speaks. */
const endTurn = (talk: Talk): void => {
  endRound(talk)
  settleLate(talk)
  dropServers(talk, () => true)
  talk.isTold = false
  talk.last = 'user'
}

/** The results of these calls are shown, if they come, but not beside the calls. */
const settleLate = ({ late, settled }: Talk): void => {
  for (const call of late.list()) settled.add(call)
  late.clear()
}

/** Pairs a result with the first call that it may be of: one that waits for it, else one that the assistant did not wait for. */
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
  // Calls in a row are made side by side, and recorded one by one.
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

/** The assistant does not wait for the results of its calls. They may still come. */
const endRound = (talk: Talk): void => {
  const message = ++talk.made
  for (const call of talk.open.list()) talk.late.add({ ...call, message })
  talk.open.clear()
}

/** Forgets server tool uses whose results cannot come any more. */
const dropServers = ({ servers, ids }: Talk, isLost: (id: string) => boolean): void => {
  for (const id of servers.keys())
    if (isLost(id)) {
      servers.delete(id)
      ids.delete(id)
    }
}
