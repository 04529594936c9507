import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { append as appendedBy, hasEdits } from '../commands/append.ts'
import type { Command, ConversationCommand, NewMessage } from '../commands/command.ts'
import { decide, decideAppend } from '../commands/decide.ts'
import { fork } from '../commands/fork.ts'
import { conversationNotFound } from '../commands/rejections.ts'
import { hashOf } from '../events/codec.ts'
import type { Actor, Event } from '../events/events.ts'
import { eventId, streamOf } from '../events/ids.ts'
import { type ChainEnd, lastPosition, readChainEnd, readConversationEnd } from './ends.ts'
import { remembered } from '../store/lru.ts'
import type { WriteError } from '../store/errors.ts'
import { gatherState, gatherAppendState } from './gather.ts'
import type { Lineage } from './lineage.ts'
import { type Appended, type EventStore, type Found, maxPage, type RecordedEvent } from '../store/port.ts'
import { reader, recordedAt } from './reader.ts'
import {
  type Chain,
  encodeChain,
  type Envelope,
  completeEnvelope,
  type CompleteEnvelope,
  type Written,
  writtenAt,
} from './encode.ts'

type Result<A> = Promise<E.Either<WriteError, A>>

export interface Handler {
  /**
   * An append that needs no look at the store: without a fence it is right wherever the conversation ends, if that is known.
   * Undefined where it is not, where others wait their turn, or where a message cannot be stored. When this has returned, the
   * messages are not looked at any more.
   */
  readonly appendNow: (
    conversation: string,
    messages: readonly NewMessage[],
    envelope: Envelope,
  ) => Result<Written> | undefined
  readonly handle: (conversation: string, command: ConversationCommand, envelope: Envelope) => Result<Written>
  readonly fork: (conversation: string, command: Command<'fork'>, envelope: Envelope) => Result<Written>
}

/** How often a command is decided anew while others write to the same conversation. */
const maxTries = 100
const maxEnds = 10_000

/**
 * Carries out commands: load, decide, append at the revision read; on a conflict again from the beginning. Commands of this
 * process on one conversation run in the order in which they were given.
 */
export const handler = (store: EventStore, defaultActor: Actor): Handler => {
  const ends = remembered<ChainEnd>(maxEnds)
  const queues = new Map<string, Promise<unknown>>()

  const append = (conversation: string, { revision }: ChainEnd, { events }: Chain, findable: boolean) =>
    store.append({
      stream: streamOf(conversation),
      events,
      expected: revision,
      findable,
      isNew: !findable,
      isUnasked: findable,
    })()

  /** What an append behind that end has come to. */
  const noted = (
    conversation: string,
    end: ChainEnd,
    { events, hash }: Chain,
    appended: E.Either<WriteError, Appended>,
  ): E.Either<WriteError, Written> => {
    // A repeat is another writer's: what stands there has its hash, not ours.
    if (E.isLeft(appended) || appended.right !== 'written') ends.forget(conversation)
    else ends.set(conversation, { lineage: end.lineage, revision: end.revision + events.length, hash })
    return E.map(() => writtenAt(conversation, lastPosition(end) + 1, events))(appended)
  }

  const write = async (
    conversation: string,
    end: ChainEnd,
    chain: Chain,
    findable: boolean,
  ): Result<Written> => noted(conversation, end, chain, await append(conversation, end, chain, findable))

  /** Looks for what a named command has written, while something else is read. */
  const find = async (conversation: string, { commandId, isNamed }: CompleteEnvelope): Result<Found> => {
    const stream = streamOf(conversation)
    return isNamed
      ? store.find(stream, eventId(stream, commandId, 0))()
      : E.right({ revision: undefined, through: Infinity })
  }

  /** What the command wrote the first time, if this is not the first. */
  const earlier = async (
    conversation: string,
    complete: CompleteEnvelope,
    end: ChainEnd,
    looked: Found,
  ): Result<Written | undefined> => {
    const stream = streamOf(conversation)
    const { commandId } = complete
    // What came between the look and the end may be the command's.
    const isSure = looked.revision !== undefined || looked.through >= end.revision
    const found = isSure ? E.right(looked) : await find(conversation, complete)
    if (E.isLeft(found)) return found
    const { revision } = found.right
    if (revision === undefined) return E.right(undefined)
    const events: RecordedEvent[] = []
    for (;;) {
      const from = revision + events.length
      const read = await store.read({ stream, from, direction: 'forwards', limit: maxPage })()
      if (E.isLeft(read)) return read
      const own = read.right.filter(
        ({ id }, index) => id === eventId(stream, commandId, events.length + index),
      )
      events.push(...own)
      if (own.length === 0 || own.length < read.right.length) break
    }
    return E.right(writtenAt(conversation, lastPosition({ ...end, revision }), events))
  }

  const decideAt = async (
    conversation: string,
    end: ChainEnd,
    command: ConversationCommand,
  ): Result<readonly Event[]> => {
    const reading = reader(store, end.lineage)
    const known = await gatherAppendState(reading, conversation, lastPosition(end), command)
    if (E.isLeft(known)) return known
    if (command.type === 'append' && !hasEdits(command.messages)) return decideAppend(command, known.right)
    const state = await gatherState(reading, known.right, command)
    return E.isLeft(state) ? state : decide(command, state.right)
  }

  const attempt = async (
    conversation: string,
    command: ConversationCommand,
    envelope: CompleteEnvelope,
  ): Result<Written> => {
    const [end, found] = await Promise.all([
      readChainEnd(store, conversation, ends.get(conversation)?.lineage),
      find(conversation, envelope),
    ])
    if (E.isLeft(end)) return end
    if (E.isLeft(found)) return found
    const before = await earlier(conversation, envelope, end.right, found.right)
    if (E.isLeft(before)) return before
    if (before.right) return E.right(before.right)
    const events = await decideAt(conversation, end.right, command)
    if (E.isLeft(events)) return events
    if (events.right.length === 0) return E.right(writtenAt(conversation, lastPosition(end.right) + 1, []))
    const chain = encodeChain(conversation, end.right.hash, events.right, envelope)
    return E.isLeft(chain) ? chain : write(conversation, end.right, chain.right, envelope.isNamed)
  }

  const appendNow: Handler['appendNow'] = (conversation, messages, envelope) => {
    const end = ends.get(conversation)
    if (!end || queues.has(conversation) || hasEdits(messages)) return undefined
    const complete = completeEnvelope(envelope, defaultActor)
    const chain = encodeChain(conversation, end.hash, appendedBy({ messages }, lastPosition(end)), complete)
    if (E.isLeft(chain)) return undefined
    // Promises are few here: what runs after a wait for the disk runs with cold caches, and costs ten times what it seems to.
    const result: Result<Written> = append(conversation, end, chain.right, false).then((appended) => {
      const leave = (): void => {
        if (queues.get(conversation) === result) queues.delete(conversation)
      }
      const outcome = noted(conversation, end, chain.right, appended)
      if (E.isRight(outcome) || outcome.left._tag !== 'Conflict') {
        leave()
        return outcome
      }
      const copies = chain.right.events.map(({ data }) => JSON.parse(data) as NewMessage)
      return handle(conversation, { type: 'append', messages: copies }, envelope).finally(leave)
    })
    queues.set(conversation, result)
    return result
  }

  const handle: Handler['handle'] = async (conversation, command, envelope) => {
    const complete = completeEnvelope(envelope, defaultActor)
    for (let tries = 1; ; tries++) {
      const result = await attempt(conversation, command, complete)
      if (E.isRight(result)) return result
      ends.forget(conversation)
      if (result.left._tag !== 'Conflict' || tries === maxTries) return result
      await sleep(Math.random() * Math.min(2 ** tries, 30))
    }
  }

  const inTurn = (conversation: string, run: () => Result<Written>): Result<Written> => {
    const before = queues.get(conversation)
    // One that failed, however it did, holds up none behind it.
    const result = before ? before.then(run, run) : run()
    queues.set(conversation, result)
    const leave = (): void => {
      if (queues.get(conversation) === result) queues.delete(conversation)
    }
    result.then(leave, leave)
    return result
  }

  const forkFrom: Handler['fork'] = async (conversation, command, envelope) => {
    const complete = completeEnvelope(envelope, defaultActor)
    const [ending, target, found] = await Promise.all([
      readConversationEnd(store, conversation),
      readChainEnd(store, command.id),
      find(command.id, complete),
    ])
    if (E.isLeft(ending)) return ending
    const { lineage, unfinished } = ending.right
    if (unfinished && !ending.right.last) return E.left(conversationNotFound(conversation))
    const last = lastPosition({ lineage, revision: ending.right.last?.revision ?? -1 })
    if (E.isLeft(target)) return target
    if (E.isLeft(found)) return found
    const before = await earlier(command.id, complete, target.right, found.right)
    if (E.isLeft(before)) return before
    if (before.right) return E.right(before.right)
    const position = command.at ?? last
    const event = position === last ? E.right(ending.right.last) : await recordedAt(store, lineage, position)
    if (E.isLeft(event)) return event
    const hash = event.right && hashOf(event.right)
    const events = fork(command, { conversation, last, hash, exists: target.right.revision >= 0 })
    if (E.isLeft(events)) return events
    const own = {
      conversation: command.id,
      stream: streamOf(command.id),
      offset: position + 1,
      last: Infinity,
    }
    const end = { lineage: [own, ...below(lineage, position)], revision: -1, hash: hash ?? null }
    const chain = encodeChain(command.id, end.hash, events.right, complete)
    if (E.isLeft(chain)) return chain
    const written = await write(command.id, end, chain.right, complete.isNamed)
    // Somebody was faster: the conversation exists now, which is how the second try ends.
    return E.isLeft(written) && written.left._tag === 'Conflict'
      ? forkFrom(conversation, command, envelope)
      : written
  }

  return {
    appendNow,
    handle: (conversation, command, envelope) => {
      const isPlain =
        command.type === 'append' &&
        command.after === undefined &&
        command.branchAt === undefined &&
        command.rewindTo === undefined &&
        envelope.commandId === undefined
      const done = isPlain ? appendNow(conversation, command.messages, envelope) : undefined
      return done ?? inTurn(conversation, () => handle(conversation, command, envelope))
    },
    fork: forkFrom,
  }
}

/** What a fork at a position has of its parent's lineage. */
const below = (lineage: Lineage, position: number): Lineage =>
  lineage
    .filter(({ offset }) => offset <= position)
    .map((stretch) => ({ ...stretch, last: Math.min(stretch.last, position) }))
