import type { NewMessage } from '../../commands/command.ts'
import { type Block, isBlock } from '../../events/blocks.ts'
import { after, begin, link, noteReturn, settleBefore, type SessionChain } from './claude-code-chain.ts'
import {
  callIds,
  type Composition,
  type Parent,
  replyBefore,
  resultIds,
  type Round,
} from './claude-code-tree.ts'
import { type FileEntry, stringOf, timeOf } from './source.ts'
import { blocksOf } from './actions.ts'
import { composeRequest } from './claude-code-composition.ts'
import type { AnsweredRequest } from './plan.ts'
import type { Configuration } from '../../events/events.ts'

// Messages in a chain of a session: from the user, from tools, and from the model.

export const user = (thread: SessionChain, entry: FileEntry, message: NewMessage): void => {
  thread.notes.mapped('user')
  say(thread, entry, message, entry.fields['isMeta'] === true)
}

/** Adds a remark by the client or a hook about a user message or a tool result. */
export const remark = (thread: SessionChain, entry: FileEntry, message: NewMessage): void =>
  say(thread, entry, message, true)

const say = (thread: SessionChain, entry: FileEntry, message: NewMessage, isRemark: boolean): void => {
  const ids = resultIds(message)
  const parent =
    ids.length > 0 || isRemark ? after(thread, entry.fields['parentUuid']) : settleBefore(thread, entry)
  noteReturn(thread, parent)
  const { from, round } = seatOf(thread, parent, ids[0], isRemark)
  if (ids.length > 0) thread.answered = timeOf(entry.fields['timestamp']) ?? thread.answered
  const isAnswer = ids.length > 0 || (isRemark && from?.isAnswer === true)
  const more = { isAnswer, results: ids.length > 1 ? ids : ids[0], round }
  thread.actions.add({ type: 'message', ...begin(thread, entry, from, more), message })
}

/**
 * Finds the action after which to place a message of tool results or a remark. In the file, the results of parallel calls are siblings,
 * and hooks add remarks to them; the round puts all of these in sequence.
 */
const seatOf = (
  { callers, head }: SessionChain,
  parent: Parent,
  result: string | undefined,
  isRemark: boolean,
): { readonly from: Parent; readonly round: Round | undefined } => {
  const caller = callers.get(result ?? '')
  const round = parent?.round
  const isOfRound = round?.tip === parent && (caller === undefined ? isRemark : caller === round)
  if (!isOfRound) return { from: parent, round: undefined }
  return round?.followed === true ? { from: head, round: undefined } : { from: parent, round }
}

/** Adds a prompt that was typed while the agent worked, at the point where it was sent. */
export const addQueued = (thread: SessionChain, entry: FileEntry, message: NewMessage): void => {
  const parent = after(thread, entry.fields['parentUuid'])
  thread.actions.add({ type: 'message', ...begin(thread, entry, parent, { isAnswer: true }), message })
}

/**
 * Adds a line of an assistant message.
 *
 * @param id id of the message; the recorder writes one line for each of the message's blocks
 */
export const assistant = (
  thread: SessionChain,
  entry: FileEntry,
  message: NewMessage,
  id: string | undefined,
): void => {
  const { notes, rounds, callers, actions } = thread
  notes.mapped('assistant')
  const content = blocksOf(message)
  const open = id === undefined ? undefined : continued(thread, entry, id, callIds(content))
  if (open) return extend(thread, open, entry, { ...message, content })
  const parent = settleBefore(thread, entry)
  noteReturn(thread, parent)
  const { parentUuid, requestId } = entry.fields
  const round: Round = {
    id,
    parent: parentUuid,
    requestId: stringOf(requestId),
    index: actions.count(),
    tip: undefined,
    followed: false,
  }
  if (id !== undefined) rounds.set(id, round)
  for (const call of callIds(content)) callers.set(call, round)
  const answered = answeredBy(thread, entry, parent)
  const placed = begin(thread, entry, parent, { round, configuration: answered?.configuration })
  // Read again, because `begin` may have added a rewind.
  round.index = actions.count()
  const request = answered && { request: answered.request }
  actions.add({ type: 'message', ...placed, message: { ...message, content }, ...request })
  if (answered) rememberComposed(thread, answered.whole)
}

/** Number of replies whose request is kept in memory, so that later requests can continue from it. */
const mostComposed = 8

const rememberComposed = ({ head, composed }: SessionChain, whole: Composition): void => {
  if (!head) return
  head.request = whole
  composed.push(head)
  const oldest = composed.length > mostComposed ? composed.shift() : undefined
  if (oldest) oldest.request = undefined
}

interface Answered {
  readonly request: AnsweredRequest
  readonly configuration: { readonly key: string; readonly value: Configuration } | undefined
  readonly whole: Composition
}

/** Returns the request that a reply answers, if the file records it; the configuration if it differs from the one in force. */
const answeredBy = (
  { requests, actions }: SessionChain,
  { fields }: FileEntry,
  parent: Parent,
): Answered | undefined => {
  const found = requests.at(fields['requestRef'])
  if (!found) return undefined
  const isNew = parent?.configured !== found.shape
  const value = isNew ? requests.configurationOf(found) : undefined
  const isKnown = !isNew || value !== undefined
  const composed = isKnown ? composeRequest(parent, found, actions.at, requests.messageWith) : undefined
  requests.answered(found.id, composed !== undefined)
  if (!composed) return undefined
  const { whole, ...own } = composed
  const { betas, cache } = found
  return { request: { ...own, betas, cache }, configuration: value && { key: found.shape, value }, whole }
}

/**
 * Returns the reply that a line continues. Lines are joined as in the client: they have the same message id, with only tool results in
 * between. The id alone is not reliable: routers repeat ids, and the API has also done so.
 */
const continued = (
  { links, rounds, head }: SessionChain,
  { fields }: FileEntry,
  id: string,
  calls: readonly string[],
): Round | undefined => {
  const last = rounds.get(id)
  if (!last) return undefined
  const { parentUuid, requestId } = fields
  const isSibling = stringOf(parentUuid) !== undefined && parentUuid === last.parent
  const found = isSibling
    ? last
    : replyBefore(links.has(parentUuid) ? links.get(parentUuid) : head, id, calls)
  const isOther =
    found?.requestId !== undefined && stringOf(requestId) !== undefined && found.requestId !== requestId
  return isOther ? undefined : found
}

/** Adds the content of another line of the same message. The last line contains the outcome of the model call. */
const extend = (
  thread: SessionChain,
  round: Round,
  { fields }: FileEntry,
  { content, origin }: Pick<NewMessage, 'origin'> & { readonly content: readonly Block[] },
): void => {
  const { notes, callers, actions } = thread
  link(thread, fields, round.tip)
  const added = content.filter((block) => {
    const isThere = isBlock(block, 'tool_use') && callers.get(block.id) === round
    if (isThere) notes.leftOut('assistant block', 'a call that is already in the same message')
    return !isThere
  })
  for (const call of callIds(added)) callers.set(call, round)
  actions.extend(round.index, { content: added, origin })
}
