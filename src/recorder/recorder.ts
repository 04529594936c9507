import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../conversation/conversation.ts'
import { type ChainEnd, lastPosition, readChainEnd } from '../conversation/reading/ends.ts'
import { createErasureWatch } from '../conversation/reading/inherited-erasures.ts'
import { loadEffective } from '../conversation/reading/load.ts'
import { loadLog } from '../conversation/reading/log.ts'
import { type HistoryState, momentAfter } from '../conversation/reading/moments.ts'
import { reader } from '../conversation/reading/reader.ts'
import { type CompleteEnvelope, completeEnvelope, encodeChain } from '../conversation/writing/encode.ts'
import { placeEvents } from '../conversation/writing/place-events.ts'
import type { StoredEvent } from '../events/codec.ts'
import type { ConversationEvent, Event, Receipt } from '../events/events.ts'
import { invalidInput } from '../events/errors.ts'
import { START } from '../events/events.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import { emptyLayout } from '../projections/layout.ts'
import { type Fallible, unwrap } from '../result/fallible.ts'
import { despiteConflicts } from '../store/conflicts.ts'
import type { ForkError, NoteError, ReadError, WriteError } from '../store/errors.ts'
import { createLruCache } from '../store/lru.ts'
import type { LayeredStore } from '../store/whole/layered-store.ts'
import { writeAll } from '../transfer/write-whole.ts'
import {
  asksSummary,
  type ChoiceContext,
  chooseLane,
  type LaneChoice,
  isQuotedAfter,
  planFor,
} from './choose-lane.ts'
import { type ClientProfile, clientOf, type SessionName, sessionOf } from './clients.ts'
import { type ModelExchange, withoutOtherHeaders } from './exchange.ts'
import { createLane, type RecordLane } from './lane.ts'
import { textsIn } from './message-keys.ts'
import { type PlanLabel, type RecordPlan, startOver } from './plan.ts'
import { eventsOf } from './plan-events.ts'
import { proveRequest, type ProvenReceipt } from './prove.ts'
import { type ReadReply, readReply } from './read-reply.ts'
import { type ReadRequest, readRequest, textIn } from './read-request.ts'

/** A call as it was recorded. */
export interface RecordedCall {
  readonly conversation: string
  /** Position of the reply, or of the last message of the request if it has no reply. */
  readonly position: number
  /** Change that led from the conversation to the request; `begin` for a new one, `fork` and `summary` for requests beside one. */
  readonly label: PlanLabel | 'begin' | 'fork' | 'summary'
  /** True if the receipt proves the bytes of the request; false if it proves the content only. Absent without a reply. */
  readonly isExact?: boolean
  /** Program whose properties the recorder knows, if one of them has made the call. */
  readonly client?: string
  /** True if no rule has led from the conversation to the request, so that it was rewound to its start and everything appended. */
  readonly isStartedOver?: boolean
}

export type RecordError = WriteError | ReadError | ForkError | NoteError

/** Records calls of models that other programs make. */
export interface CallRecorder {
  /**
   * Records a call; undefined if its path or its body belongs to no call, or if it is recorded already. Calls are recorded one at a time: wait for one before the
   * next.
   */
  readonly record: (exchange: ModelExchange) => Fallible<RecordError, RecordedCall | undefined>
}

/** Store that a recorder writes to. */
export interface RecorderMeans {
  readonly events: LayeredStore
  readonly conversation: (id: string) => ConversationHandle
}

/** Maximum number of conversations that the recorder remembers. Others are read again from the log. */
const maxLanes = 64
/** Maximum number of further conversations of a session among which a request looks for its own. */
const maxLooked = 31
/** Maximum number of conversations without a session among which a request looks for its own. */
const maxAnonymous = 32
/** Number of events that are read at once. */
const pageLength = 500
const mostTries = 5

/** Number of events, from the end of a log, among which a call is looked for that may be recorded already. */
const mostMarks = 500
/** Time at which a call ends whose end is not known yet. */
const never = new Date(8_640_000_000_000_000)

/** A conversation as the recorder remembers it. */
interface KnownLane {
  readonly lane: RecordLane
  /** Marks of the calls to which the last events belong. */
  marks: readonly string[]
  /** The history at the end of the log, if it is known. */
  moment?: HistoryState | undefined
  /** Time at which the last call had ended. */
  ended?: Date
  /** Erasures in the conversations that it was forked from, at the time of reading. */
  readonly inherited: string
}

const emptyHistory: HistoryState = {
  effective: { at: START, head: START, items: [], layout: emptyLayout },
  sinceView: 0,
  replaced: new Map(),
}

/** The call that is being recorded. */
interface OpenCall {
  readonly request: ReadRequest
  readonly reply: ReadReply | undefined
  readonly exchange: ModelExchange
  readonly headers: Readonly<Record<string, string>>
  readonly profile: ClientProfile | undefined
  /** Session that the program names, if it does. */
  readonly session: SessionName | undefined
}

export const createRecorder = ({ events, conversation }: RecorderMeans): CallRecorder => {
  const known = createLruCache<KnownLane>(maxLanes)
  /** Ids of the conversations of each session, and of the newest conversations without one, by the beginning of their ids. */
  const families = createLruCache<readonly string[]>(maxLanes)
  /** Conversations of the calls that are open, by the ids of the calls. */
  const open = createLruCache<Located>(maxLanes)
  const inheritedErasures = createErasureWatch(events)
  let count = 0

  /** Folds what was written to a conversation since it was last looked at. */
  async function* current(id: string): Fallible<ReadError, { known: KnownLane; end: ChainEnd }> {
    const end = yield* readChainEnd(events, id)
    const last = lastPosition(end)
    const inherited = yield* inheritedErasures(end.lineage)
    const before = known.get(id)
    const unread = (): KnownLane => ({ lane: createLane(id), marks: [], inherited })
    let lane = before && before.lane.last() <= last && before.inherited === inherited ? before : unread()
    if (lane.lane.last() < last) lane.moment = undefined
    while (lane.lane.last() < last) {
      const from = lane.lane.last() + 1
      const to = Math.min(last, from + pageLength - 1)
      const page = yield* unwrap(loadLog(reader(events, end.lineage), to, undefined, from))
      // After an erasure, the keys of earlier messages are others.
      if (lane === before && page.some(({ type }) => type === 'Erased')) lane = unread()
      else {
        lane.lane.advance(page)
        lane.marks = [...lane.marks, ...page.flatMap(marksIn)].slice(-mostMarks)
      }
    }
    known.set(id, lane)
    return { known: lane, end }
  }

  const exists = async function* (id: string): Fallible<ReadError, boolean> {
    return lastPosition(yield* readChainEnd(events, id)) >= 0
  }

  /** Returns the ids of the conversations that a request may continue. */
  async function* familyOf(base: string, isNamed: boolean): Fallible<ReadError, readonly string[]> {
    const ids = families.get(base)
    if (ids) return ids
    const found: string[] = []
    if (isNamed) for (let id = base; yield* exists(id); id = `${base}:side-${found.length}`) found.push(id)
    else {
      const names = yield* unwrap(events.newest([streamOf(`${base}-`)], undefined, maxAnonymous))
      found.push(...names.flatMap((name) => conversationOf(name) ?? []).filter((id) => !id.includes(':')))
    }
    families.set(base, found)
    return found
  }

  const addTo = (base: string, ids: readonly string[], id: string, isNamed: boolean): void =>
    families.set(base, isNamed ? [...ids, id] : [id, ...ids].slice(0, maxAnonymous))

  /** Forks a conversation; from the empty history, a new conversation begins instead. */
  async function* forkAt(lane: RecordLane, id: string, at: number): Fallible<RecordError, void> {
    if (at >= 0) yield* unwrap(conversation(lane.id).fork(id, { at }))
  }

  /** Returns the next free id with a beginning; undefined if the conversation with the id before it has the call already. */
  async function* freeId(beginning: string, call: OpenCall): Fallible<ReadError, string | undefined> {
    for (let number = 1; ; number++) {
      const id = `${beginning}-${number}`
      if (yield* exists(id)) continue
      if (number > 1 && hasCall((yield* current(`${beginning}-${number - 1}`)).known, call)) return undefined
      return id
    }
  }

  /** Finds another session's conversation whose history, with a reply, begins the request: its program has forked it. */
  const forkedFrom = (
    lanes: readonly RecordLane[],
    { messages }: ReadRequest,
  ): LaneChoice['lane'] | undefined => {
    const keys = messages.map(({ key }) => key)
    const reply = messages.findIndex(({ message }) => message.role === 'assistant')
    if (reply < 0) return undefined
    const [best] = lanes
      .map((lane) => ({ lane, depth: lane.deepest(keys).messages }))
      .filter(({ depth }) => depth > reply)
      .toSorted((a, b) => b.depth - a.depth)
    return best?.lane
  }

  /** Finds or begins the conversation of a call; undefined if it is recorded already. */
  async function* locate(call: OpenCall): Fallible<RecordError, Located | undefined> {
    const { request, headers, profile, session, exchange } = call
    const isNamed = session !== undefined
    const base = baseOf(session, profile)
    const ids = yield* familyOf(base, isNamed)
    const lanes: RecordLane[] = []
    for (const id of ids.slice(0, 1).concat(ids.slice(1).slice(-maxLooked))) {
      const { known: lane } = yield* current(id)
      if (hasCall(lane, call)) return undefined
      lanes.push(lane.lane)
    }
    const context: ChoiceContext = { isNamed, profile }
    const keys = request.messages.map(({ key }) => key)
    const chosen = chooseLane(lanes, request, context)
    const at = chosen?.lane.deepest(keys).position ?? START
    if (asksSummary(request, headers, profile)) {
      if (chosen && at >= 0) {
        const id = yield* freeId(`${chosen.lane.id}:summary`, call)
        if (id === undefined) return undefined
        yield* forkAt(chosen.lane, id, at)
        return { id, label: 'summary', of: [chosen.lane] }
      }
      // Some programs ask in other words, with the conversation as a text.
      const id = yield* freeId(`${isNamed ? base : newId(base)}:summary`, call)
      if (id === undefined) return undefined
      return { id, label: 'summary', of: lanes.filter((lane) => isQuotedAfter(lane, request, 0)) }
    }
    if (!chosen) {
      const id = isNamed ? (ids.length === 0 ? base : `${base}:side-${ids.length}`) : newId(base)
      const from = isNamed && ids.length === 0 ? forkedFrom(remembered(), request) : undefined
      if (from) yield* forkAt(from, id, from.deepest(keys).position)
      addTo(base, ids, id, isNamed)
      return { id, label: from ? 'fork' : 'begin' }
    }
    const { lane, plan } = chosen
    // The program has made this call while another one was open, and this one does not continue that one.
    const { ended } = known.get(lane.id) ?? {}
    const isOther = plan.rewindTo !== undefined || ended === never
    if (isOther && at >= 0 && ended && exchange.begun < ended) {
      const id = isNamed ? `${base}:side-${ids.length}` : newId(base)
      yield* forkAt(lane, id, at)
      addTo(base, ids, id, isNamed)
      return { id, label: 'fork' }
    }
    if (!isNamed) families.set(base, [lane.id, ...ids.filter((id) => id !== lane.id)])
    return { id: lane.id }
  }

  const ownLanes = new Set<string>()
  const remembered = (): readonly RecordLane[] =>
    [...ownLanes].flatMap((id) => (id.includes(':summary') ? [] : (known.get(id)?.lane ?? [])))

  const newId = (base: string): string => `${base}-${Date.now().toString(36)}${(count++).toString(36)}`

  /** Returns the history that a plan continues. */
  async function* baseFor(
    { moment }: KnownLane,
    { lineage, ...end }: ChainEnd,
    { rewindTo }: RecordPlan,
  ): Fallible<ReadError, HistoryState> {
    const last = lastPosition({ lineage, ...end })
    if (rewindTo === undefined && moment) return moment
    const at = rewindTo ?? last
    return at < 0 ? emptyHistory : yield* loadEffective(reader(events, lineage), at)
  }

  /** Plans, folds and compares the events of a request; undefined if the history would not be the request. */
  const attempt = (
    { request, headers }: OpenCall,
    { plan, base, end, envelope, id }: Attempt,
  ): E.Either<WriteError, Proven | undefined> => {
    const list = eventsOf(plan, request, base, lastPosition(end))
    const chain = encodeChain(id, end.hash, list, envelope)
    if (E.isLeft(chain)) return chain
    const placed = placeEvents(id, end, chain.right)
    if (E.isLeft(placed)) return placed
    const after = momentAfter(
      base,
      placed.right.filter(({ type }) => type !== 'Rewound'),
    )
    if (!after) return E.right(undefined)
    const at = placed.right.at(-1)?.position ?? lastPosition(end)
    const moment = { ...after, effective: { ...after.effective, at } }
    const proof = proveRequest(moment.effective, request, betasIn(headers))
    return E.right(proof && { chain: chain.right, placed: placed.right, moment, proof })
  }

  /** Writes the events of a call to its conversation, all or nothing. */
  async function* write(id: string, call: OpenCall): Fallible<RecordError, RecordedCall> {
    const { request, reply, exchange, profile } = call
    const { known: lane, end } = yield* current(id)
    const isNew = lastPosition(end) < 0
    const plan = planFor(lane.lane, request, profile)
    const actor = { kind: 'recorder', ...agentOf(call.headers) }
    const correlationId = exchange.id
    const marked = correlationId === undefined ? {} : { correlationId }
    const envelope = completeEnvelope({ now: exchange.begun, ...marked }, actor)
    let used = plan
    let proven = yield* unwrap(
      attempt(call, { plan, base: yield* baseFor(lane, end, plan), end, envelope, id }),
    )
    if (!proven && !isNew) {
      used = startOver
      proven = yield* unwrap(attempt(call, { plan: startOver, base: emptyHistory, end, envelope, id }))
    }
    if (!proven) return yield notRecordable
    const { chain, placed, moment, proof } = proven
    const list = reply ? replyEvents(reply, proof.receipt) : []
    const replyEnvelope = completeEnvelope({ now: exchange.ended, ...marked }, actor)
    const more = yield* unwrap(encodeChain(id, chain.hash, list, replyEnvelope))
    const middle = { ...end, revision: end.revision + chain.events.length, hash: chain.hash }
    const added = yield* unwrap(placeEvents(id, middle, more))
    const stream = streamOf(id)
    yield* writeAll(events, [{ id, stream, end, events: [...chain.events, ...more.events] }], () => undefined)
    const written = [...placed, ...added]
    lane.lane.advance(written)
    lane.marks = [...lane.marks, ...written.flatMap(marksIn)].slice(-mostMarks)
    lane.moment = momentAfter(moment, added)
    lane.ended = exchange.isOpen ? never : exchange.ended
    ownLanes.add(id)
    if (ownLanes.size > maxLanes)
      for (const oldest of [...ownLanes].slice(0, -maxLanes)) ownLanes.delete(oldest)
    return {
      conversation: id,
      position: added.at(-1)?.position ?? placed.at(-1)?.position ?? lastPosition(end),
      label: isNew ? 'begin' : used.label,
      ...(reply && { isExact: proof.isExact }),
      ...(profile && { client: profile.name }),
      ...(used === startOver && { isStartedOver: true }),
    }
  }

  async function* record(exchange: ModelExchange): Fallible<RecordError, RecordedCall | undefined> {
    const headers = withoutOtherHeaders(Object.entries(exchange.headers))
    const read = readExchange(exchange, headers)
    if (read === 'unreadable') return yield unreadable
    if (!read) return undefined
    const { request, reply } = read
    const session = sessionOf(headers, request.body)
    const call: OpenCall = { request, reply, exchange, headers, profile: clientOf(headers), session }
    const opened = exchange.id === undefined ? undefined : open.get(exchange.id)
    const located = opened ?? (yield* locate(call))
    if (!located) return undefined
    const { id, label, of = [] } = located
    const done = yield* despiteConflicts(() => write(id, call), mostTries)
    if (exchange.id !== undefined) {
      if (exchange.isOpen) open.set(exchange.id, located)
      else open.forget(exchange.id)
    }
    // The next request of the summarized conversation has this text in place of its history.
    if (reply) for (const lane of of) lane.addReply(textOfReply(reply))
    if (label === 'begin' && !opened && session?.agent !== undefined) {
      const main = baseOf({ session: session.session }, undefined)
      yield* unwrap(conversation(id).link({ relation: 'subagent-of', conversation: main }))
    }
    return label ? { ...done, label } : done
  }

  return { record }
}

/**
 * Reads a request and its reply; undefined if the request is no call of a model. Errors of parsers are not passed on, because their
 * messages quote the text.
 */
const readExchange = (
  { path, body, reply }: ModelExchange,
  headers: Readonly<Record<string, string>>,
): Pick<OpenCall, 'request' | 'reply'> | 'unreadable' | undefined => {
  let request: ReadRequest | undefined
  try {
    request = readRequest(path, textIn(body, headers['content-encoding']))
  } catch {
    return 'unreadable'
  }
  if (!request) return undefined
  const replyHeaders = withoutOtherHeaders(Object.entries(reply.headers))
  try {
    return { request, reply: readReply(request.api, { ...reply, headers: replyHeaders }) }
  } catch {
    return { request, reply: undefined }
  }
}

/** Returns the mark of the call to which an event belongs. A reply has another one than its request, which may be recorded before it. */
const marksIn = ({ type, data, metadata }: ConversationEvent): readonly string[] => {
  const { $correlationId: call } = metadata
  if (call === undefined) return []
  return [type === 'MessageAppended' && data.origin ? `${call} reply` : call]
}

/** Reports whether a conversation has a call already. */
const hasCall = ({ marks }: KnownLane, { reply, exchange: { id } }: OpenCall): boolean =>
  id !== undefined && marks.includes(reply ? `${id} reply` : id)

const unreadable = invalidInput('body', 'is no JSON, or cannot be decompressed, so the call is not recorded')

/** The conversation of a call. */
interface Located {
  readonly id: string
  readonly label?: RecordedCall['label']
  /** The conversations that the call may ask a summary of. */
  readonly of?: readonly RecordLane[]
}

interface Attempt {
  readonly plan: RecordPlan
  readonly base: HistoryState
  readonly end: ChainEnd
  readonly envelope: CompleteEnvelope
  readonly id: string
}

/** The events of a request, encoded, with the history after them, which was compared with the request. */
interface Proven {
  readonly chain: { readonly events: readonly StoredEvent[]; readonly hash: string | null }
  readonly placed: readonly ConversationEvent[]
  readonly moment: HistoryState
  readonly proof: ProvenReceipt
}

const baseOf = (session: SessionName | undefined, profile: ClientProfile | undefined): string => {
  if (!session) return `recorded-${profile?.name ?? 'program'}`
  return `recorded-${session.session}${session.agent === undefined ? '' : `:${session.agent}`}`
}

/** Returns the program that sent these headers, as the first word of its `User-Agent`. */
const agentOf = ({
  'user-agent': agent = '',
}: Readonly<Record<string, string>>): { readonly id?: string } => {
  const [id = ''] = agent.trim().split(/\s/)
  return id === '' ? {} : { id: id.slice(0, 100) }
}

const betasIn = ({ 'anthropic-beta': betas = '' }: Readonly<Record<string, string>>): readonly string[] =>
  betas
    .split(',')
    .map((beta) => beta.trim())
    .filter(Boolean)

/** Returns the events of a reply. Its last message has the receipt. */
const replyEvents = ({ messages, origin }: ReadReply, context: Receipt): readonly Event[] =>
  messages.map(({ role, content, fields }, index) => ({
    type: 'MessageAppended',
    data: {
      role,
      content,
      ...fields,
      ...(index === messages.length - 1 && { origin: { ...origin, context } }),
    },
  }))

const textOfReply = ({ messages }: ReadReply): string =>
  messages.flatMap(({ content }) => content.flatMap(textsIn)).join('\n')

const notRecordable = invalidInput(
  'body',
  'the request cannot be made again from a conversation, so the call is not recorded',
)
